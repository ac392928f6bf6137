package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// or holds where one of its rules does, and where all do, not where its rule does not.
type (
	or  struct{ rules []*rule }
	and struct{ rules []*rule }
	not struct{ rule *rule }
)

func (pl *plan) compound(p *profile.Rule) condition {
	latency := pl.latency
	rules := make([]*rule, len(p.Rules))
	for i := range p.Rules {
		rules[i] = pl.compile(&p.Rules[i])
	}
	if p.Kind != profile.And { // a limit that need not hold does not decide between regions
		pl.latency = latency
	}
	if p.Kind == profile.Or {
		return &or{rules}
	}
	if p.Kind == profile.And {
		return &and{rules}
	}
	return &not{&rule{age: p.Age, condition: &and{rules}}}
}

func (o *or) admits(l *lineup, c *candidate, _ *profile.Limits) bool {
	for _, r := range o.rules {
		if r.mayAdmit(l, c) {
			return true
		}
	}
	return len(o.rules) == 0
}

func (o *or) judge(l *lineup, _ *profile.Limits) verdict {
	var best verdict
	for i, r := range o.rules {
		v := r.verdict(l)
		regions := best.regions | v.regions
		if i == 0 || v.excess < best.excess {
			best = v
		}
		best.regions = regions
	}
	return best
}

func (a *and) admits(l *lineup, c *candidate, _ *profile.Limits) bool {
	for _, r := range a.rules {
		if !r.mayAdmit(l, c) {
			return false
		}
	}
	return true
}

func (a *and) judge(l *lineup, _ *profile.Limits) verdict {
	all := verdict{regions: everywhere}
	over := 0.0
	for i, r := range a.rules {
		v := r.verdict(l)
		regions := all.regions & v.regions
		over += v.excess
		if i == 0 || v.excess > all.excess {
			all = v
		}
		all.regions = regions
	}
	all.excess = over
	return disjoint(all)
}

// disjoint corrects the verdict of rules that hold in different regions only.
func disjoint(v verdict) verdict {
	if v.regions == 0 && v.excess == 0 {
		v.excess = 1
	}
	return v
}

func (n *not) admits(l *lineup, c *candidate, _ *profile.Limits) bool { return n.rule.mayFail(l, c) }

// refutable is a condition of which some tickets show that it holds for every match that has them.
type refutable interface {
	// mayFail is what admits is, for the opposite of the condition.
	mayFail(l *lineup, c *candidate, lim *profile.Limits) bool
}

// mayFail reports whether the rule may be broken by a match with the line-up and c. Limits that widen are not looked
// at.
func (r *rule) mayFail(l *lineup, c *candidate) bool {
	condition, ok := r.condition.(refutable)
	return !ok || len(r.steps) > 0 || condition.mayFail(l, c, &r.base)
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

func (n *not) judge(l *lineup, _ *profile.Limits) verdict {
	v := n.rule.verdict(l)
	v.regions = ^v.regions
	v.excess = 0
	if v.regions&l.allowedRegions == 0 && (v.regions == 0 || l.allowedRegions != 0) {
		// How far a negation is from holding has no measure: any constant that is not 0 says that it does not hold.
		v.excess = 1
	}
	return v
}
