package verifytest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// ruleDrawer draws rules of a profile whose other parts are drawn already.
type ruleDrawer struct {
	t *rapid.T
	p *profile.Profile
}

func pickOne[E any](d ruleDrawer, label string, from ...E) E {
	return rapid.SampledFrom(from).Draw(d.t, label)
}

func (d ruleDrawer) drawFlag(label string) bool { return rapid.Bool().Draw(d.t, label) }

// drawUpTo draws a number from 0 to most, inclusive.
func (d ruleDrawer) drawUpTo(label string, most int) int {
	return rapid.IntRange(0, most).Draw(d.t, label)
}

// deepestLevel is that of rules inside of rules inside of a profile's, which have level 0.
const deepestLevel = 2

// drawRule draws a rule at a level of nesting.
func (d ruleDrawer) drawRule(id string, level int) profile.Rule {
	r := newRule(d.p)
	r.ID = id
	if d.drawUpTo("own age", 3) == 0 {
		r.Age = ageKinds.Draw(d.t, "rule's age")
	}
	r.Kind = d.drawKind(level)
	d.fillRule(&r, level)
	if r.Kind != profile.Not && d.drawFlag("widen") {
		d.widenRule(&r)
	}
	return r
}

// newRule returns a rule that has what Parse sets where a document says nothing.
func newRule(p *profile.Profile) profile.Rule {
	return profile.Rule{Age: p.Age, Limits: profile.Limits{Max: profile.NoMax, Spread: profile.NoSpread}}
}

// drawKind draws a kind that is possible with the profile's teams. On the deepest level no rule has rules inside.
func (d ruleDrawer) drawKind(level int) profile.RuleKind {
	last := profile.Not
	if level == deepestLevel {
		last = profile.Avoid // compound kinds come after it
	}
	kinds := rapid.Map(rapid.IntRange(int(profile.Near), int(last)),
		func(kind int) profile.RuleKind { return profile.RuleKind(kind) })
	return kinds.Filter(d.suitsTeams).Draw(d.t, "kind")
}

// suitsTeams reports whether a kind is possible with the profile's teams.
func (d ruleDrawer) suitsTeams(k profile.RuleKind) bool {
	return len(d.p.Teams) > 1 || !comparesTeams(k)
}

// comparesTeams reports whether a rule of the kind compares teams: Parse refuses it in a profile with one team.
func comparesTeams(k profile.RuleKind) bool {
	return k == profile.Balance || k == profile.Sizes || k == profile.PartySizes
}

// fillRule draws what a rule of the kind has.
func (d ruleDrawer) fillRule(r *profile.Rule, level int) {
	switch r.Kind {
	case profile.Near:
		d.drawAttribute(r, numberAttributes)
		r.Limits.Within = float64(d.drawUpTo("within", 3))
		d.drawPartyFold(r)
		r.PerTeam, r.FromMean = d.drawFlag("per team"), d.drawFlag("from mean")
		if d.drawUpTo("tolerance", 3) == 0 {
			// As Parse has it: tolerances are of pairs, and every ticket has its own.
			r.Tolerance, r.FromMean, r.Age = "level", false, profile.Each
		}
	case profile.Balance:
		d.drawAttribute(r, numberAttributes)
		r.Limits.Within = float64(d.drawUpTo("within", 3))
		d.drawPartyFold(r)
		r.Teams = pickOne(d, "teams", profile.FoldMean, profile.FoldSum, profile.FoldMin, profile.FoldMax)
	case profile.Sizes, profile.PartySizes:
		r.Limits.Within = float64(d.drawUpTo("within", 1))
	case profile.Comparison:
		d.drawCompare(r)
	case profile.Same, profile.Different:
		d.drawAttribute(r, slices.Concat(numberAttributes, textAttributes))
		r.PerTeam = d.drawFlag("per team")
	case profile.Common:
		d.drawAttribute(r, listAttributes)
		r.Limits.AtLeast = 1 + d.drawUpTo("at least", 1)
		r.Party = pickOne(d, "party", profile.FoldEach, profile.Intersect, profile.Union)
	case profile.Count:
		d.drawAttribute(r, slices.Concat(textAttributes, listAttributes))
		r.AnyOf = []string{pickOne(d, "any of", attributeTexts...)}
		r.Limits.Min = d.drawUpTo("least", 2)
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
		r.Attribute, r.PerTeam, r.Missing.Pass = blockedAttribute, d.drawFlag("per team"), true
	case profile.Or, profile.And, profile.Not:
		d.drawCompound(r, level)
	}
}

// drawAttribute draws the attribute that a rule compares, what the rule does about players without it, and the roles of
// the players that it is about.
func (d ruleDrawer) drawAttribute(r *profile.Rule, names []string) {
	r.Attribute = pickOne(d, "attribute", names...)
	d.drawMissing(r, r.Attribute)
	if d.p.Teams[0].Roles == nil {
		return
	}
	switch d.drawUpTo("role", 3) {
	case 0:
		r.Role = pickOne(d, "of role", roles...)
	case 1:
		if r.Kind == profile.Near || r.Kind == profile.Balance {
			r.ByRole = d.drawByRole()
		}
	}
}

// drawByRole draws which numbers count for players in some roles.
func (d ruleDrawer) drawByRole() []profile.RoleAttribute {
	all := []profile.RoleAttribute{{Role: "healer", Attribute: "skill"}, {Role: "tank", Attribute: "level"}}
	return pickOne(d, "which", all[:1], all[1:], all)
}

// drawMissing draws what a rule does about players without the attribute.
func (d ruleDrawer) drawMissing(r *profile.Rule, attribute string) {
	switch pickOne(d, "missing", "fail", "pass", "value") {
	case "pass":
		r.Missing.Pass = true
	case "value":
		r.Missing.Value = usualValue(attribute)
	}
}

// usualValue returns a value of the attribute's kind.
func usualValue(attribute string) *match.Value {
	if slices.Contains(textAttributes, attribute) {
		return &match.Value{Kind: match.Text, Text: "a"}
	}
	if slices.Contains(listAttributes, attribute) {
		return &match.Value{Kind: match.List, List: []string{"a"}}
	}
	return &match.Value{Kind: match.Number, Number: 1}
}

// drawPartyFold draws what counts of the numbers of a party.
func (d ruleDrawer) drawPartyFold(r *profile.Rule) {
	r.Party = pickOne(d, "party", profile.FoldEach, profile.FoldEach, profile.FoldMin, profile.FoldMax,
		profile.FoldMean)
}

// drawCompound draws the rules inside of a rule.
func (d ruleDrawer) drawCompound(r *profile.Rule, level int) {
	most := 2
	if r.Kind == profile.Not {
		most = 1
	}
	for i := range rapid.IntRange(1, most).Draw(d.t, "rules inside") {
		r.Rules = append(r.Rules, d.drawRule(fmt.Sprintf("%s-%d", r.ID, i), level+1))
	}
	if r.Kind == profile.Not {
		removeSteps(r)
	}
}

// drawPreference draws a preference, which excludes no ticket.
func (d ruleDrawer) drawPreference(id string) profile.Preference {
	r := d.drawRule(id, 0)
	makePreferable(&r)
	return profile.Preference{Rule: r, Weight: float64(1 + d.drawUpTo("weight", 3))}
}

// makePreferable gives a rule what Parse demands of preferences: the rule and those inside have no steps, and leave out
// players whom they cannot compare.
func makePreferable(r *profile.Rule) {
	r.Widen, r.Missing.Pass = nil, true
	for i := range r.Rules {
		makePreferable(&r.Rules[i])
	}
}
