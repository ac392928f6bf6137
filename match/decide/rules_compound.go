package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// The conditions that consist of rules.
type (
	or  struct{ rules []*rule } // holds in the regions where one of them holds
	and struct{ rules []*rule } // holds in the regions where all of them hold
	not struct{ rule *rule }    // holds in the regions where it does not hold
)

func (o *or) admitsCandidate(l *lineup, c *candidate, _ *profile.Limits) bool {
	for _, r := range o.rules {
		if r.mayAdmit(l, c) {
			return true
		}
	}
	return len(o.rules) == 0
}

func (o *or) judgeLineup(l *lineup, _ *profile.Limits) verdict {
	var best verdict
	for i, r := range o.rules {
		v := r.verdictFor(l)
		regions := best.holdingRegions | v.holdingRegions
		// The rule that is nearest to holding is shown, with the regions of all that hold.
		if i == 0 || v.excess < best.excess {
			best = v
		}
		best.holdingRegions = regions
	}
	return best
}

func (a *and) admitsCandidate(l *lineup, c *candidate, _ *profile.Limits) bool {
	for _, r := range a.rules {
		if !r.mayAdmit(l, c) {
			return false
		}
	}
	return true
}

func (a *and) judgeLineup(l *lineup, _ *profile.Limits) verdict {
	all := verdict{holdingRegions: everywhere}
	over := 0.0
	for i, r := range a.rules {
		v := r.verdictFor(l)
		regions := all.holdingRegions & v.holdingRegions
		over += v.excess
		if i == 0 || v.excess > all.excess {
			all = v
		}
		all.holdingRegions = regions
	}
	all.excess = over // the sum, so that a line-up that satisfies one of two broken rules comes nearer
	return disjointVerdict(all)
}

func (n *not) admitsCandidate(l *lineup, c *candidate, _ *profile.Limits) bool {
	return n.rule.mayFail(l, c)
}

// refutable is a condition of which some tickets may show that it holds for every match that has them.
type refutable interface {
	// mayFail is admitsCandidate for the opposite of the condition.
	mayFail(l *lineup, c *candidate, lim *profile.Limits) bool
}

// mayFail reports whether a match with the line-up and c may break the rule. For a rule that widens it returns true.
func (r *rule) mayFail(l *lineup, c *candidate) bool {
	condition, ok := r.condition.(refutable)
	return !ok || len(r.limitSteps) > 0 || condition.mayFail(l, c, &r.baseLimits)
}

// mayFail implements refutable.
func (o *or) mayFail(l *lineup, c *candidate, _ *profile.Limits) bool {
	return !slices.ContainsFunc(o.rules, func(r *rule) bool { return !r.mayFail(l, c) })
}

// mayFail implements refutable.
func (a *and) mayFail(l *lineup, c *candidate, _ *profile.Limits) bool {
	return slices.ContainsFunc(a.rules, func(r *rule) bool { return r.mayFail(l, c) })
}

// mayFail implements refutable.
func (n *not) mayFail(l *lineup, c *candidate, _ *profile.Limits) bool { return n.rule.mayAdmit(l, c) }

func (n *not) judgeLineup(l *lineup, _ *profile.Limits) verdict {
	v := n.rule.verdictFor(l)
	v.holdingRegions = ^v.holdingRegions // the regions where the rule within does not hold
	v.excess = 0
	if v.holdingRegions&l.allowedRegions == 0 && (v.holdingRegions == 0 || l.allowedRegions != 0) {
		// How far a negation is from holding has no measure: any constant that is not 0 says that it does not hold.
		v.excess = 1
	}
	return v
}
