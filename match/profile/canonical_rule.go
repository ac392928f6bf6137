package profile

import (
	"time"

	"github.com/lattice-director/director/match"
)

func canonicalRule(r Rule) members {
	kind := shapeOf(r.Kind)
	d := members{{kind.kindKey, canonicalMain(r)}}
	d.setMember("id", r.ID)
	d.setMember("age", ages.wordFor(r.Age))
	d.setMember("role", r.Role)
	canonicalOwn(&d, r)
	// Nobody can lack the attribute of a rule that has none.
	if len(r.Measured()) > 0 {
		d.setMember("missing", canonicalMissing(r.Missing))
	}
	d.setMember("widen", canonicalWiden(r, kind))
	return d
}

func canonicalPreference(p Preference) members {
	return members{{"rule", canonicalRule(p.Rule)}, {"weight", p.Weight}}
}

// canonicalMain returns the value of the key that says the rule's kind.
func canonicalMain(r Rule) any {
	switch r.Kind {
	case Sizes, PartySizes:
		return r.Limits.Within
	case Comparison:
		return canonicalMeasure(r.Compare.Measure)
	case Latency:
		return briefDuration(r.Limits.Latency)
	case Or, And:
		return encodeEach(r.Rules, canonicalRule)
	case Not:
		return canonicalRule(r.Rules[0])
	default: // Near, Balance, Same, Different, Common, Count, Avoid
		return r.Attribute
	}
}

func canonicalMeasure(m Measure) members {
	d := members{{"take", takes.wordFor(m.Take)}}
	d.setMember("of", m.Attribute)
	d.setMember("in", m.Team)
	d.setMember("by_role", canonicalByRole(m.ByRole))
	return d
}

func canonicalByRole(all []RoleAttribute) (d members) {
	for _, by := range all {
		d = append(d, member{by.Role, by.Attribute})
	}
	return d
}

// canonicalOwn sets the keys that only some kinds have.
func canonicalOwn(d *members, r Rule) {
	if r.PerTeam {
		d.setMember("per", "team")
	}
	if r.FromMean {
		d.setMember("from", "mean")
	}
	d.setMember("by_role", canonicalByRole(r.ByRole))
	// each is the default, and most kinds of rules do not have the key.
	if r.Party != FoldEach {
		d.setMember("party", parties.wordFor(r.Party))
	}
	switch r.Kind {
	case Near:
		if r.Tolerance == "" {
			d.setMember("within", r.Limits.Within)
		} else {
			// A tolerance takes the place of the limit, which then bounds it.
			d.setMember("within", "ticket."+r.Tolerance)
			d.setMember("up_to", r.Limits.Within)
		}
	case Balance:
		d.setMember("within", r.Limits.Within)
		d.setMember("teams", balances.wordFor(r.Teams))
	case Comparison:
		d.setMember("is", operators.wordFor(r.Compare.Operator))
		if r.Compare.Against != nil {
			d.setMember("to", canonicalMeasure(*r.Compare.Against))
		} else {
			d.setMember("to", r.Limits.Number)
		}
	case Common:
		d.setMember("at_least", r.Limits.AtLeast)
	case Count:
		d.setMember("any_of", anyTexts(r.AnyOf))
		d.setMember("min", r.Limits.Min)
		// Without the key there is no limit; NoMax is more than the key may be.
		if r.Limits.Max != NoMax {
			d.setMember("max", r.Limits.Max)
		}
	case Latency:
		take := "max"
		if r.TakeMean {
			take = "mean"
		}
		d.setMember("take", take)
		if r.Limits.Spread != NoSpread {
			d.setMember("spread", briefDuration(r.Limits.Spread))
		}
	default: // the other kinds have no keys of their own
	}
}

// canonicalMissing returns the value of the key missing: pass, fail or the value that stands in.
func canonicalMissing(m Missing) any {
	switch {
	// Before Pass, which every preference has: see convertMissing.
	case m.Value != nil:
		return canonicalValue(*m.Value)
	case m.Pass:
		return "pass"
	}
	return "fail"
}

// canonicalWiden returns the steps or, where a document may not list so many, the linear widening that made them.
func canonicalWiden(r Rule, kind ruleShape) any {
	if l := r.linearSource; l != nil {
		// Documents write latencies as durations, and linear holds nanoseconds.
		if r.Kind == Latency {
			return members{{"every", briefDuration(l.stepEvery)}, {"add", briefDuration(time.Duration(l.stepAdd))},
				{"until", briefDuration(time.Duration(l.lastLimit))}}
		}
		return members{{"every", briefDuration(l.stepEvery)}, {"add", l.stepAdd}, {"until", l.lastLimit}}
	}
	return encodeEach(r.Widen, func(s Step) members {
		return append(members{{"after", briefDuration(s.AfterWait)}}, canonicalStep(r, kind, s.Limits)...)
	})
}

// canonicalStep returns all limits of the kind, also those that the step does not change.
func canonicalStep(r Rule, kind ruleShape, l Limits) (d members) {
	if l.Ended {
		return members{{endKey(kind), string(anyLimit)}}
	}
	switch r.Kind {
	case Near, Balance:
		d.setMember("within", l.Within)
	case Sizes, PartySizes:
		d.setMember(kind.kindKey, l.Within)
	case Comparison:
		d.setMember("to", l.Number)
	case Common:
		d.setMember("at_least", l.AtLeast)
	case Count:
		d.setMember("min", l.Min)
		// Always written: without the key, the step would keep the limit of the one before.
		if l.Max == NoMax {
			d.setMember("max", string(anyLimit))
		} else {
			d.setMember("max", l.Max)
		}
	case Latency:
		d.setMember("latency", briefDuration(l.Latency))
		// As max of count above.
		if l.Spread == NoSpread {
			d.setMember("spread", string(anyLimit))
		} else {
			d.setMember("spread", briefDuration(l.Spread))
		}
	default: // the other kinds have no limits
	}
	return d
}

// endKey returns the key whose any ends a rule.
func endKey(kind ruleShape) string {
	// These two kinds have limits whose any is one bound less, and not the end of the rule.
	if kind.kind == Count || kind.kind == Latency {
		return kind.kindKey
	}
	return kind.stepFields[0].keyName // the limit, or the key of the kind where it has none
}

func canonicalValue(v match.Value) any {
	switch v.Kind {
	case match.Number:
		return v.Number
	case match.List:
		return anyTexts(v.List)
	default: // match.Text
		return v.Text
	}
}
