package verifytest

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// The kinds of rules of a queue's profile, and of those inside of other rules.
var (
	innerKinds = []profile.RuleKind{
		profile.Near, profile.Near, profile.Balance, profile.Sizes, profile.PartySizes, profile.Comparison,
		profile.Same, profile.Different, profile.Common, profile.Count, profile.Latency, profile.Avoid,
	}
	allKinds = slices.Concat(innerKinds, []profile.RuleKind{profile.Or, profile.And, profile.Not})
)

// drawRule draws a rule of one of the kinds, without an id.
func (d queueDrawer) drawRule(p *profile.Profile, kinds []profile.RuleKind) profile.Rule {
	r := newRule(p)
	r.Kind = drawOneOf(d, kinds...)
	for len(p.Teams) == 1 && comparesTeams(r.Kind) {
		r.Kind = drawOneOf(d, kinds...)
	}
	d.fillRule(p, &r)
	if r.Kind != profile.Not && d.drawOneIn(2) {
		d.widenRule(&r)
	}
	return r
}

// fillRule draws what a rule of the kind has. Its skills are those of drawTicket.
func (d queueDrawer) fillRule(p *profile.Profile, r *profile.Rule) {
	r.Missing.Pass = r.Kind != profile.Latency && d.drawOneIn(2)
	switch r.Kind {
	case profile.Near:
		r.Attribute, r.Limits.Within = "skill", float64(50+d.random.IntN(300))
		r.PerTeam, r.FromMean = d.drawOneIn(5), d.drawOneIn(4)
		r.Party = drawOneOf(d, profile.FoldEach, profile.FoldMean, profile.FoldMax)
	case profile.Balance:
		r.Attribute, r.Limits.Within = "skill", float64(5+d.random.IntN(100))
		r.Teams = drawOneOf(d, profile.FoldMean, profile.FoldSum, profile.FoldMax, profile.FoldMin)
	case profile.Sizes, profile.PartySizes:
		r.Limits.Within = float64(d.random.IntN(2))
	case profile.Comparison:
		d.drawCompare(p, r)
	case profile.Same:
		r.Attribute = drawOneOf(d, "platform", "clan")
		r.PerTeam = r.Attribute == "clan"
	case profile.Different:
		r.Attribute, r.PerTeam = drawOneOf(d, "country", "class"), d.drawOneIn(2)
	case profile.Common:
		r.Attribute, r.Limits.AtLeast = "maps", 1+d.random.IntN(2)
		r.Party = drawOneOf(d, profile.FoldEach, profile.Intersect, profile.Union)
	case profile.Count:
		r.Attribute, r.AnyOf, r.PerTeam = "class", []string{drawOneOf(d, "a", "b", "c")}, d.drawOneIn(2)
		r.Limits.Min = d.random.IntN(2)
		r.Limits.Max = drawOneOf(d, 2, 3, profile.NoMax)
	case profile.Latency:
		r.Limits.Latency, r.TakeMean = time.Duration(40+d.random.IntN(60))*time.Millisecond, d.drawOneIn(3)
		if d.drawOneIn(3) {
			r.Limits.Spread = 40 * time.Millisecond
		}
	case profile.Avoid:
		r.Attribute, r.PerTeam, r.Missing.Pass = blockedAttribute, d.drawOneIn(2), true
	case profile.Or, profile.And:
		r.Rules = []profile.Rule{d.drawRule(p, innerKinds), d.drawRule(p, innerKinds)}
	case profile.Not:
		r.Rules = []profile.Rule{d.drawRule(p, innerKinds)}
		removeSteps(r)
	}
}

func (d queueDrawer) drawCompare(p *profile.Profile, r *profile.Rule) {
	r.Missing.Pass = true
	r.Compare = &profile.Compare{Measure: profile.Measure{Attribute: "skill",
		Take: drawOneOf(d, profile.FoldMean, profile.FoldMin, profile.FoldMax)}, Operator: profile.GreaterOrEqual}
	r.Limits.Number = float64(1000 + d.random.IntN(600))
	if d.drawOneIn(2) {
		r.Compare.Operator = profile.LessOrEqual
		r.Limits.Number += 500
	}
	if d.drawOneIn(3) {
		r.Compare.Measure.Team = drawOneOf(d, p.Teams...).Name
	}
}

// widenRule adds a step that allows more.
func (d queueDrawer) widenRule(r *profile.Rule) {
	limits := r.Limits
	switch r.Kind {
	case profile.Near, profile.Balance:
		limits.Within *= 2
	case profile.Latency:
		limits.Latency += 30 * time.Millisecond
	case profile.Count:
		limits.Min = 0
	case profile.Common:
		limits.AtLeast = 1
	default:
		limits.Ended = true
	}
	r.Widen = []profile.Step{{AfterWait: drawOneOf(d, 10*time.Second, 30*time.Second), Limits: limits}}
}

// drawPreference draws a preference, which excludes no ticket.
func (d queueDrawer) drawPreference(p *profile.Profile, id string) profile.Preference {
	r := d.drawRule(p, allKinds)
	r.ID = id
	makePreferable(&r)
	return profile.Preference{Rule: r, Weight: float64(1 + d.random.IntN(3))}
}
