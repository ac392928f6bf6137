package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// rule is a rule of the profile that can be judged.
type rule struct {
	id    string
	age   profile.Age
	base  profile.Limits
	steps []profile.Step
	// byTeam says that the rule looks at teams or roles; others hold or not for a set of tickets.
	byTeam bool
	// firm says that teams that break the rule break it whoever joins them, so that it can be judged before they are
	// full.
	firm      bool
	condition condition
}

// condition is what a rule's kind compares.
type condition interface {
	// admits reports whether the tickets of the line-up and c may be in one match. It sees no teams and no roles. It
	// may return true for what judge refuses later, but false only if judge refuses every match that has these tickets.
	admits(l *lineup, c *candidate, lim *profile.Limits) bool
	// judge compares a line-up whose players have their teams and roles.
	judge(l *lineup, lim *profile.Limits) verdict
}

// verdict says how a rule holds for a line-up.
type verdict struct {
	regions uint64 // where it holds: every region for most rules
	value   float64
	limit   float64
	excess  float64 // how far the line-up is from holding, to compare two that do not hold; 0 if it holds somewhere
	ended   bool
}

const everywhere = ^uint64(0)

// anyRole and anyTeam are the scope of rules that look at all players.
const (
	anyRole = -1
	anyTeam = -1
)

// atMost holds if value <= limit.
func atMost(value, limit float64) verdict {
	if value <= limit {
		return verdict{regions: everywhere, value: value, limit: limit}
	}
	return verdict{value: value, limit: limit,
		excess: math.Max((value-limit)/(1+math.Abs(limit)), math.SmallestNonzeroFloat64)}
}

// none holds if nothing offends.
func none(offences int) verdict { return atMost(float64(offences), 0) }

func (r *rule) limits(age time.Duration) *profile.Limits {
	for i := len(r.steps) - 1; i >= 0; i-- {
		if age >= r.steps[i].AfterWait {
			return &r.steps[i].Limits
		}
	}
	return &r.base
}

// ends reports whether the rule ends with time. Then a ticket that it cannot compare waits until it has.
func (r *rule) ends() bool {
	return slices.ContainsFunc(r.steps, func(s profile.Step) bool { return s.Limits.Ended })
}

// step returns how many of the rule's steps an age has passed.
func (r *rule) step(age time.Duration) int {
	n := len(r.steps)
	for n > 0 && age < r.steps[n-1].AfterWait {
		n--
	}
	return n
}

// mayAdmit is admits under the widest limits that the line-up with c can have.
func (r *rule) mayAdmit(l *lineup, c *candidate) bool {
	if p, ok := r.condition.(pairwise); ok && r.age == profile.Each {
		return p.admitsPairs(l, c, r)
	}
	lim := r.limits(l.widest(r.age, c))
	return lim.Ended || r.condition.admits(l, c, lim)
}

// pairwise is a condition that takes the narrower limit of each pair itself.
type pairwise interface {
	admitsPairs(l *lineup, c *candidate, r *rule) bool
	judgePairs(l *lineup, r *rule) verdict
}

func (r *rule) verdict(l *lineup) verdict {
	if r.age != profile.Each {
		return r.judgeAt(l, l.age(r.age))
	}
	if p, ok := r.condition.(pairwise); ok {
		return p.judgePairs(l, r)
	}
	return r.forEach(l)
}

func (r *rule) judgeAt(l *lineup, age time.Duration) verdict {
	lim := r.limits(age)
	if lim.Ended {
		return verdict{regions: everywhere, ended: true}
	}
	return r.condition.judge(l, lim)
}

// forEach judges under the limits of each step that a ticket has passed: all must hold.
func (r *rule) forEach(l *lineup) verdict {
	all := verdict{regions: everywhere, ended: true}
	for step := range len(r.steps) + 1 {
		c := slices.IndexFunc(l.picks, func(c *candidate) bool { return !c.seated && r.step(l.ageOf(c)) == step })
		if c < 0 {
			continue
		}
		v := r.judgeAt(l, l.ageOf(l.picks[c]))
		regions := all.regions & v.regions
		if all.ended || v.excess > all.excess || v.excess == all.excess && v.limit < all.limit && !v.ended {
			all = v
		}
		all.regions = regions
	}
	return all
}

// compile prepares a rule and those that it consists of.
func (pl *plan) compile(p *profile.Rule) *rule {
	return &rule{id: p.ID, age: p.Age, base: p.Limits, steps: p.Widen, byTeam: byTeam(p), firm: isFirm(p),
		condition: pl.condition(p)}
}

func byTeam(p *profile.Rule) bool {
	switch p.Kind {
	case profile.Balance, profile.Sizes, profile.PartySizes:
		return true
	case profile.Comparison:
		return p.Role != "" || p.Rates() || p.Compare.Measure.Team != "" ||
			p.Compare.Against != nil && p.Compare.Against.Team != ""
	case profile.Or, profile.And, profile.Not:
		return slices.ContainsFunc(p.Rules, func(r profile.Rule) bool { return byTeam(&r) })
	case profile.Near, profile.Same, profile.Different, profile.Common, profile.Count, profile.Latency, profile.Avoid:
	}
	return p.Role != "" || p.PerTeam || p.Rates()
}

func isFirm(p *profile.Rule) bool {
	if !p.PerTeam || p.Role != "" {
		return false
	}
	if p.Rates() {
		return false // who joins may change the roles of others
	}
	return p.Kind == profile.Near && !p.FromMean || p.Kind == profile.Same || p.Kind == profile.Different ||
		p.Kind == profile.Avoid
}

func (pl *plan) condition(p *profile.Rule) condition {
	s := pl.scopeOf(p)
	col := column{rule: p.ID, attribute: p.Attribute, missing: p.Missing, role: s.role, optional: p.Missing.Pass}
	switch p.Kind {
	case profile.Near:
		s.column, s.byRole = pl.number(col), pl.byRole(p.ByRole, col)
		n := &near{scope: s, perTeam: p.PerTeam, fromMean: p.FromMean, tolerance: noColumn,
			mayHaveNoRole: pl.mayHaveNoRole()}
		if p.Tolerance != "" {
			n.tolerance = pl.number(column{attribute: p.Tolerance, role: anyRole, optional: true})
		}
		return n
	case profile.Balance:
		s.column, s.byRole = pl.number(col), pl.byRole(p.ByRole, col)
		return &balance{scope: s, teams: p.Teams}
	case profile.Sizes:
		return &sizes{}
	case profile.PartySizes:
		return &sizes{parties: true}
	case profile.Comparison:
		return pl.comparison(p, s, col)
	case profile.Same, profile.Different:
		s.column = addColumn(&pl.atoms, col)
		if p.Kind == profile.Same {
			return &same{scope: s, perTeam: p.PerTeam}
		}
		pl.distinct = append(pl.distinct, s.column)
		return &different{scope: s, perTeam: p.PerTeam}
	case profile.Common:
		s.column = addColumn(&pl.lists, col)
		return &common{scope: s, attribute: p.Attribute}
	case profile.Count:
		col.anyOf = append([]string{}, p.AnyOf...)
		s.column = pl.number(col)
		return &count{scope: s, perTeam: p.PerTeam}
	case profile.Latency:
		pl.latency = true
		return &latency{scope: s, mean: p.TakeMean, missing: p.Missing}
	case profile.Avoid:
		return &avoid{plan: pl, attribute: p.Attribute, perTeam: p.PerTeam}
	case profile.Or, profile.And, profile.Not:
		return pl.compound(p)
	}
	return always{}
}

// always is a rule of a kind that this version does not know: it was refused when the profile was read.
type always struct{}

func (always) admits(*lineup, *candidate, *profile.Limits) bool { return true }

func (always) judge(*lineup, *profile.Limits) verdict { return verdict{regions: everywhere} }

// scope says whose numbers a rule takes, and how those of a party become one.
type scope struct {
	column int
	byRole []int // by role: the column of players in it; nil: all have the same one
	fold   profile.Fold
	role   int
	team   int
}

func (pl *plan) scopeOf(p *profile.Rule) scope {
	s := scope{fold: p.Party, role: anyRole, team: anyTeam}
	if p.Role != "" {
		s.role = pl.role(p.Role)
		if s.role < 0 {
			s.role = len(pl.roles) // nobody fills it
		}
	}
	return s
}

func (s scope) inTeam(team int) scope {
	s.team = team
	return s
}
