package profile

import "time"

func canonicalRule(r Rule) members {
	kind := shapeOf(r.Kind)
	d := members{{kind.name, canonicalMain(r)}}
	d.set("id", r.ID)
	d.set("age", ages.word(r.Age))
	d.set("role", r.Role)
	canonicalOwn(&d, r)
	if len(r.Measured()) > 0 {
		d.set("missing", canonicalMissing(r.Missing))
	}
	d.set("widen", canonicalWiden(r, kind))
	return d
}

func canonicalPreference(p Preference) members {
	return members{{"rule", canonicalRule(p.Rule)}, {"weight", p.Weight}}
}

// canonicalMain returns the value of the key that says the rule's kind.
func canonicalMain(r Rule) any {
	switch r.Kind {
	case Sizes, PartySizes:
		return r.Within
	case Comparison:
		return canonicalMeasure(r.Compare.Measure)
	case Latency:
		return brief(r.Latency)
	case Or, And:
		return each(r.Rules, canonicalRule)
	case Not:
		return canonicalRule(r.Rules[0])
	case Near, Balance, Same, Different, Common, Count, Avoid:
	}
	return r.Attribute
}

func canonicalMeasure(m Measure) members {
	d := members{{"take", takes.word(m.Take)}}
	d.set("of", m.Attribute)
	d.set("in", m.Team)
	d.set("by_role", canonicalByRole(m.ByRole))
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
		d.set("per", "team")
	}
	if r.FromMean {
		d.set("from", "mean")
	}
	d.set("by_role", canonicalByRole(r.ByRole))
	if r.Party != FoldEach {
		d.set("party", parties.word(r.Party))
	}
	switch r.Kind {
	case Near:
		d.set("within", r.Within)
		if r.Tolerance != "" {
			(*d)[len(*d)-1].value = "ticket." + r.Tolerance
			d.set("up_to", r.Within)
		}
	case Balance:
		d.set("within", r.Within)
		d.set("teams", balances.word(r.Teams))
	case Comparison:
		d.set("is", operators.word(r.Compare.Operator))
		if r.Compare.Against != nil {
			d.set("to", canonicalMeasure(*r.Compare.Against))
		} else {
			d.set("to", r.Number)
		}
	case Common:
		d.set("at_least", r.AtLeast)
	case Count:
		d.set("any_of", anys(r.AnyOf))
		d.set("min", r.Min)
		if r.Max != NoMax {
			d.set("max", r.Max)
		}
	case Latency:
		d.set("take", map[bool]string{false: "max", true: "mean"}[r.TakeMean])
		if r.Spread != NoSpread {
			d.set("spread", brief(r.Spread))
		}
	default: // the other kinds have no keys of their own
	}
}

func canonicalMissing(m Missing) any {
	switch {
	case m.Value != nil:
		return canonicalValue(*m.Value)
	case m.Pass:
		return "pass"
	}
	return "fail"
}

func canonicalWiden(r Rule, kind ruleShape) any {
	if l := r.linear; l != nil {
		if r.Kind == Latency {
			return members{{"every", brief(l.every)}, {"add", brief(time.Duration(l.add))},
				{"until", brief(time.Duration(l.until))}}
		}
		return members{{"every", brief(l.every)}, {"add", l.add}, {"until", l.until}}
	}
	return each(r.Widen, func(s Step) members {
		return append(members{{"after", brief(s.AfterWait)}}, canonicalStep(r, kind, s.Limits)...)
	})
}

// canonicalStep returns all limits of the kind.
func canonicalStep(r Rule, kind ruleShape, l Limits) (d members) {
	if l.Ended {
		return members{{endKey(kind), string(anyLimit)}}
	}
	switch r.Kind {
	case Near, Balance:
		d.set("within", l.Within)
	case Sizes, PartySizes:
		d.set(kind.name, l.Within)
	case Comparison:
		d.set("to", l.Number)
	case Common:
		d.set("at_least", l.AtLeast)
	case Count:
		d.set("min", l.Min)
		d.set("max", string(anyLimit))
		if l.Max != NoMax {
			d[len(d)-1].value = l.Max
		}
	case Latency:
		d.set("latency", brief(l.Latency))
		d.set("spread", string(anyLimit))
		if l.Spread != NoSpread {
			d[len(d)-1].value = brief(l.Spread)
		}
	default: // the other kinds have no limits
	}
	return d
}

// endKey returns the key whose any ends a rule.
func endKey(kind ruleShape) string {
	switch kind.kind {
	case Count, Latency:
		return kind.name
	default: // the others are ended by the key of their kind, or have only one
	}
	return kind.steps[0].name
}
