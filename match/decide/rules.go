package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// rule is a rule of the profile that can be judged.
type rule struct {
	id         string
	ageKind    profile.Age
	baseLimits profile.Limits
	limitSteps []profile.Step
	// byTeam says that the rule looks at teams or roles; others hold or not for a set of tickets.
	byTeam bool
	// isFirm says that teams that break the rule break it whoever joins them, so that it can be judged before they are
	// full.
	isFirm    bool
	condition condition
}

// condition is what a rule's kind compares.
type condition interface {
	// admitsCandidate reports whether the tickets of the line-up and c may be in one match. It sees no teams and no roles. It
	// may return true for what judgeLineup refuses later, but false only if judgeLineup refuses every match that has these tickets.
	admitsCandidate(l *lineup, c *candidate, lim *profile.Limits) bool
	// judgeLineup compares a line-up whose players have their teams and roles.
	judgeLineup(l *lineup, lim *profile.Limits) verdict
}

// verdict says how a rule holds for a line-up.
type verdict struct {
	holdingRegions uint64 // where it holds: every region for most rules
	value          float64
	limit          float64
	excess         float64 // how far the line-up is from holding, to compare two that do not hold; 0 if it holds somewhere
	hasEnded       bool
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
		return verdict{holdingRegions: everywhere, value: value, limit: limit}
	}
	return verdict{value: value, limit: limit,
		excess: math.Max((value-limit)/(1+math.Abs(limit)), math.SmallestNonzeroFloat64)}
}

// noneOffends holds if nothing offends.
func noneOffends(offences int) verdict { return atMost(float64(offences), 0) }

func (r *rule) limitsAt(age time.Duration) *profile.Limits {
	for i := len(r.limitSteps) - 1; i >= 0; i-- {
		if age >= r.limitSteps[i].AfterWait {
			return &r.limitSteps[i].Limits
		}
	}
	return &r.baseLimits
}

// everEnds reports whether the rule ends with time. Then a ticket that it cannot compare waits until it has.
func (r *rule) everEnds() bool {
	return slices.ContainsFunc(r.limitSteps, func(s profile.Step) bool { return s.Limits.Ended })
}

// stepAt returns how many of the rule's steps an age has passed.
func (r *rule) stepAt(age time.Duration) int {
	n := len(r.limitSteps)
	for n > 0 && age < r.limitSteps[n-1].AfterWait {
		n--
	}
	return n
}

// mayAdmit is admitsCandidate under the widest limits that the line-up with c can have.
func (r *rule) mayAdmit(l *lineup, c *candidate) bool {
	if p, ok := r.condition.(pairwise); ok && r.ageKind == profile.Each {
		return p.admitsPairs(l, c, r)
	}
	lim := r.limitsAt(l.widestAge(r.ageKind, c))
	return lim.Ended || r.condition.admitsCandidate(l, c, lim)
}

// pairwise is a condition that takes the narrower limit of each pair itself.
type pairwise interface {
	admitsPairs(l *lineup, c *candidate, r *rule) bool
	judgePairs(l *lineup, r *rule) verdict
}

func (r *rule) verdictFor(l *lineup) verdict {
	if r.ageKind != profile.Each {
		return r.judgeAt(l, l.decidingAge(r.ageKind))
	}
	if p, ok := r.condition.(pairwise); ok {
		return p.judgePairs(l, r)
	}
	return r.forEach(l)
}

func (r *rule) judgeAt(l *lineup, age time.Duration) verdict {
	lim := r.limitsAt(age)
	if lim.Ended {
		return verdict{holdingRegions: everywhere, hasEnded: true}
	}
	return r.condition.judgeLineup(l, lim)
}

// forEach judges under the limits of each step that a ticket has passed: all must hold.
func (r *rule) forEach(l *lineup) verdict {
	all := verdict{holdingRegions: everywhere, hasEnded: true}
	for step := range len(r.limitSteps) + 1 {
		c := slices.IndexFunc(l.picks, func(c *candidate) bool { return !c.isSeated && r.stepAt(l.ageOf(c)) == step })
		if c < 0 {
			continue
		}
		v := r.judgeAt(l, l.ageOf(l.picks[c]))
		regions := all.holdingRegions & v.holdingRegions
		if all.hasEnded || v.excess > all.excess || v.excess == all.excess && v.limit < all.limit && !v.hasEnded {
			all = v
		}
		all.holdingRegions = regions
	}
	return all
}

// compileRule prepares a rule and those that it consists of.
func (pl *plan) compileRule(p *profile.Rule) *rule {
	return &rule{id: p.ID, ageKind: p.Age, baseLimits: p.Limits, limitSteps: p.Widen, byTeam: byTeam(p),
		isFirm:    isFirm(p),
		condition: pl.newCondition(p)}
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

func (pl *plan) newCondition(p *profile.Rule) condition {
	s := pl.scopeOf(p)
	col := column{ruleID: p.ID, attribute: p.Attribute, missing: p.Missing, onlyRole: s.onlyRole,
		isOptional: p.Missing.Pass}
	switch p.Kind {
	case profile.Near:
		s.column, s.byRole = pl.numberColumn(col), pl.byRole(p.ByRole, col)
		n := &near{scope: s, perTeam: p.PerTeam, fromMean: p.FromMean, toleranceColumn: noColumn,
			mayHaveNoRole: pl.mayHaveNoRole()}
		if p.Tolerance != "" {
			n.toleranceColumn = pl.numberColumn(column{attribute: p.Tolerance, onlyRole: anyRole, isOptional: true})
		}
		return n
	case profile.Balance:
		s.column, s.byRole = pl.numberColumn(col), pl.byRole(p.ByRole, col)
		return &balance{scope: s, teamFold: p.Teams}
	case profile.Sizes:
		return &sizes{}
	case profile.PartySizes:
		return &sizes{ofParties: true}
	case profile.Comparison:
		return pl.newComparison(p, s, col)
	case profile.Same, profile.Different:
		s.column = addColumn(&pl.atomColumns, col)
		if p.Kind == profile.Same {
			return &same{scope: s, perTeam: p.PerTeam}
		}
		pl.differentColumns = append(pl.differentColumns, s.column)
		return &different{scope: s, perTeam: p.PerTeam}
	case profile.Common:
		s.column = addColumn(&pl.listColumns, col)
		return &common{scope: s, attribute: p.Attribute}
	case profile.Count:
		col.anyOf = append([]string{}, p.AnyOf...)
		s.column = pl.numberColumn(col)
		return &count{scope: s, perTeam: p.PerTeam}
	case profile.Latency:
		pl.limitsLatency = true
		return &latency{scope: s, takesMean: p.TakeMean, missing: p.Missing}
	case profile.Avoid:
		return &avoid{plan: pl, attribute: p.Attribute, perTeam: p.PerTeam}
	case profile.Or, profile.And, profile.Not:
		return pl.newCompound(p)
	}
	return always{}
}

// always is a rule of a kind that this version does not know: it was refused when the profile was read.
type always struct{}

func (always) admitsCandidate(*lineup, *candidate, *profile.Limits) bool { return true }

func (always) judgeLineup(*lineup, *profile.Limits) verdict {
	return verdict{holdingRegions: everywhere}
}

// scope says whose numbers a rule takes, and how those of a party become one.
type scope struct {
	column    int
	byRole    []int // by role: the column of players in it; nil: all have the same one
	partyFold profile.Fold
	onlyRole  int
	onlyTeam  int
}

func (pl *plan) scopeOf(p *profile.Rule) scope {
	s := scope{partyFold: p.Party, onlyRole: anyRole, onlyTeam: anyTeam}
	if p.Role != "" {
		s.onlyRole = pl.roleNumber(p.Role)
		if s.onlyRole < 0 {
			s.onlyRole = len(pl.roleNames) // nobody fills it
		}
	}
	return s
}

func (s scope) inTeam(team int) scope {
	s.onlyTeam = team
	return s
}
