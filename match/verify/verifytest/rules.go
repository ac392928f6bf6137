package verifytest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// drawer draws the rules of a profile.
type drawer struct {
	t *rapid.T
	p *profile.Profile
}

func pickOne[E any](d drawer, label string, from ...E) E {
	return rapid.SampledFrom(from).Draw(d.t, label)
}

func (d drawer) drawFlag(label string) bool { return rapid.Bool().Draw(d.t, label) }

func (d drawer) upTo(label string, most int) int { return rapid.IntRange(0, most).Draw(d.t, label) }

// depth is how deep rules may be inside of others.
const depth = 2

// drawRule draws a rule at a level of nesting, of which the deepest has no rules inside.
func (d drawer) drawRule(id string, level int) profile.Rule {
	r := profile.Rule{ID: id, Age: d.p.Age, Limits: profile.Limits{Max: profile.NoMax, Spread: profile.NoSpread}}
	if d.upTo("own age", 3) == 0 {
		r.Age = ages.Draw(d.t, "rule's age")
	}
	kinds := profile.Avoid
	if level < depth {
		kinds = profile.Not
	}
	r.Kind = rapid.Map(rapid.IntRange(int(profile.Near), int(kinds)), toKind).Filter(d.suitsTeams).Draw(d.t, "kind")
	d.fillRule(&r, level)
	if r.Kind != profile.Not && d.drawFlag("widen") {
		d.widenRule(&r)
	}
	return r
}

func toKind(i int) profile.RuleKind { return profile.RuleKind(i) }

// suitsTeams reports whether the kind is possible with the profile's teams: some compare teams.
func (d drawer) suitsTeams(k profile.RuleKind) bool {
	return len(d.p.Teams) > 1 || k != profile.Balance && k != profile.Sizes && k != profile.PartySizes
}

// fillRule sets what a rule of the kind has.
func (d drawer) fillRule(r *profile.Rule, level int) {
	switch r.Kind {
	case profile.Near:
		d.drawAttribute(r, numbers, 0, 3)
		d.foldNumbers(r)
		r.PerTeam, r.FromMean = d.drawFlag("per team"), d.drawFlag("from mean")
		if d.upTo("tolerance", 3) == 0 {
			// As Parse has it: tolerances are of pairs, and every ticket has its own.
			r.Tolerance, r.FromMean, r.Age = numbers[1], false, profile.Each
		}
	case profile.Balance:
		d.drawAttribute(r, numbers, 0, 3)
		d.foldNumbers(r)
		r.Teams = pickOne(d, "teams", profile.FoldMean, profile.FoldSum, profile.FoldMin, profile.FoldMax)
	case profile.Sizes, profile.PartySizes:
		r.Limits.Within = float64(d.upTo("within", 1))
	case profile.Comparison:
		d.drawCompare(r)
	case profile.Same, profile.Different:
		d.drawAttribute(r, slices.Concat(numbers, words), 0, 0)
		r.PerTeam = d.drawFlag("per team")
	case profile.Common:
		d.drawAttribute(r, lists, 0, 0)
		r.Limits.AtLeast = 1 + d.upTo("at least", 1)
		r.Party = pickOne(d, "party", profile.FoldEach, profile.Intersect, profile.Union)
	case profile.Count:
		d.drawAttribute(r, slices.Concat(words, lists), 0, 0)
		r.AnyOf = []string{pickOne(d, "any of", values...)}
		r.Limits.Min = d.upTo("least", 2)
		// Not below the least: Parse refuses a range that holds nothing.
		r.Limits.Max = max(r.Limits.Min, pickOne(d, "most", 1, 2, profile.NoMax))
		r.PerTeam = d.drawFlag("per team")
	case profile.Latency:
		r.Limits.Latency = time.Duration(pickOne(d, "latency", 30, 60)) * time.Millisecond
		r.TakeMean = d.drawFlag("mean")
		if d.drawFlag("spread") {
			r.Limits.Spread = 20 * time.Millisecond
		}
	case profile.Avoid:
		r.Attribute, r.PerTeam, r.Missing.Pass = blocked, d.drawFlag("per team"), true
	case profile.Or, profile.And, profile.Not:
		d.drawCompound(r, level)
	}
}

// drawAttribute sets the attribute that a rule compares, what it does about players without it, and for some whose it
// compares.
func (d drawer) drawAttribute(r *profile.Rule, names []string, least, most int) {
	r.Attribute = pickOne(d, "attribute", names...)
	r.Limits.Within = float64(rapid.IntRange(least, most).Draw(d.t, "within"))
	d.drawMissing(r, r.Attribute)
	if d.p.Teams[0].Roles == nil {
		return
	}
	switch d.upTo("role", 3) {
	case 0:
		r.Role = pickOne(d, "of role", roles...)
	case 1:
		if r.Kind == profile.Near || r.Kind == profile.Balance {
			r.ByRole = d.byRole()
		}
	}
}

// byRole draws which numbers count for players in some roles.
func (d drawer) byRole() []profile.RoleAttribute {
	all := []profile.RoleAttribute{{Role: "healer", Attribute: numbers[0]}, {Role: "tank", Attribute: numbers[1]}}
	return pickOne(d, "which", all[:1], all[1:], all)
}

// drawPreference draws a preference, which excludes no ticket.
func (d drawer) drawPreference(id string) profile.Preference {
	r := d.drawRule(id, 0)
	steadyRule(&r)
	softenRule(&r)
	return profile.Preference{Rule: r, Weight: float64(1 + d.upTo("weight", 3))}
}

// softenRule lets a rule, and those inside, leave out players whom it cannot compare.
func softenRule(r *profile.Rule) {
	r.Missing.Pass = true
	for i := range r.Rules {
		softenRule(&r.Rules[i])
	}
}

func (d drawer) drawMissing(r *profile.Rule, attribute string) {
	switch pickOne(d, "missing", "fail", "pass", "value") {
	case "pass":
		r.Missing.Pass = true
	case "value":
		v := match.Value{Kind: match.Number, Number: 1}
		if slices.Contains(words, attribute) {
			v = match.Value{Kind: match.Text, Text: "a"}
		}
		if slices.Contains(lists, attribute) {
			v = match.Value{Kind: match.List, List: []string{"a"}}
		}
		r.Missing.Value = &v
	}
}

func (d drawer) foldNumbers(r *profile.Rule) {
	r.Party = pickOne(d, "party", profile.FoldEach, profile.FoldEach, profile.FoldMin, profile.FoldMax,
		profile.FoldMean)
}

func (d drawer) drawCompare(r *profile.Rule) {
	c := &profile.Compare{Measure: d.drawMeasure(profile.FoldEach, profile.FoldSum),
		Operator: profile.Operator(1 + d.upTo("is", 5))}
	if d.drawFlag("to a measure") {
		to := d.drawMeasure(profile.FoldSum)
		c.Against = &to
	}
	r.Limits.Number = float64(d.upTo("to", 4))
	r.Compare = c
	d.drawMissing(r, numbers[0])
}

func (d drawer) drawMeasure(some ...profile.Fold) profile.Measure {
	m := profile.Measure{
		Take: pickOne(d, "take", append(some, profile.FoldMean, profile.FoldMin, profile.FoldMax,
			profile.FoldCount)...),
		Attribute: pickOne(d, "of", numbers...),
	}
	if m.Take == profile.FoldCount {
		m.Attribute = pickOne(d, "count of", "", numbers[0], words[0])
	}
	if m.Take != profile.FoldCount && d.p.Teams[0].Roles != nil && d.upTo("by role", 3) == 0 {
		m.ByRole = d.byRole()
	}
	if d.drawFlag("in a team") {
		m.Team = pickOne(d, "in", d.p.Teams...).Name
	}
	return m
}

func (d drawer) drawCompound(r *profile.Rule, level int) {
	most := 2
	if r.Kind == profile.Not {
		most = 1
	}
	for i := range rapid.IntRange(1, most).Draw(d.t, "rules inside") {
		r.Rules = append(r.Rules, d.drawRule(fmt.Sprintf("%s-%d", r.ID, i), level+1))
	}
	if r.Kind == profile.Not {
		steadyRule(r)
	}
}

// steadyRule takes the steps out of a rule and those inside: what must not hold would become harder to satisfy with
// time.
func steadyRule(r *profile.Rule) {
	r.Widen = nil
	for i := range r.Rules {
		steadyRule(&r.Rules[i])
	}
}

// Denial returns a rule that holds where the rule does not, as it is before any step.
func Denial(r profile.Rule) profile.Rule {
	inner := renameRule(r)
	denial := profile.Rule{ID: "no-" + r.ID, Kind: profile.Not, Age: r.Age,
		Limits: profile.Limits{Max: profile.NoMax, Spread: profile.NoSpread}, Rules: []profile.Rule{inner}}
	steadyRule(&denial)
	return denial
}

// renameRule returns a copy of a rule, and of those inside, with other ids.
func renameRule(r profile.Rule) profile.Rule {
	r.ID += "-copy"
	r.Rules = slices.Clone(r.Rules)
	for i := range r.Rules {
		r.Rules[i] = renameRule(r.Rules[i])
	}
	return r
}

// widenRule adds 1 or 2 steps, each of which allows more than the one before.
func (d drawer) widenRule(r *profile.Rule) {
	limits, after := r.Limits, time.Duration(0)
	for range rapid.IntRange(1, 2).Draw(d.t, "steps") {
		after += later.Draw(d.t, "after")
		switch {
		case d.upTo("any", 3) == 0 || isCompound(r.Kind) || r.Kind == profile.Same || r.Kind == profile.Different ||
			r.Kind == profile.Avoid:
			limits.Ended = true
		// There is no number to widen.
		case r.Kind == profile.Comparison && r.Compare.Against != nil, r.Tolerance != "":
			limits.Ended = true
		default:
			d.widenLimits(r, &limits)
		}
		r.Widen = append(r.Widen, profile.Step{AfterWait: after, Limits: limits})
		if limits.Ended {
			return
		}
	}
}

func isCompound(k profile.RuleKind) bool {
	return k == profile.Or || k == profile.And || k == profile.Not
}

func (d drawer) widenLimits(r *profile.Rule, l *profile.Limits) {
	switch r.Kind {
	case profile.Near, profile.Balance, profile.Sizes, profile.PartySizes:
		l.Within++
	case profile.Comparison:
		// Wider is up for < and <=, down for > and >=; of = and !=, any other number may follow.
		if l.Number++; r.Compare.Operator == profile.Greater || r.Compare.Operator == profile.GreaterOrEqual {
			l.Number -= 2
		}
	case profile.Common:
		l.AtLeast = max(1, l.AtLeast-1)
	case profile.Count:
		l.Min = max(0, l.Min-1)
	case profile.Latency:
		l.Latency += 30 * time.Millisecond
	default:
	}
}

// ages prefers the default.
var ages = rapid.SampledFrom([]profile.Age{profile.Oldest, profile.Oldest, profile.Youngest, profile.Mean,
	profile.Each})

// later and ever are the ages at which something widens, ever also 0. Tickets are as old as that to the nanosecond, or
// a nanosecond younger.
var (
	later = rapid.SampledFrom([]time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second})
	ever  = rapid.OneOf(rapid.Just(time.Duration(0)), later)
)
