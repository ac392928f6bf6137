package decide

import (
	"math"
	"math/bits"
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
	// looksAtTeams says that the rule looks at teams or roles. Others need only the tickets.
	looksAtTeams bool
	// isFirm says that teams that break the rule break it whoever joins them, so that it can be judged before they are
	// full.
	isFirm    bool
	condition condition
}

// condition is what a rule's kind compares.
type condition interface {
	// admitsCandidate reports whether the tickets of the line-up and c may be in one match. It sees no teams and no
	// roles. It may return true for what judgeLineup refuses later, but false only if judgeLineup refuses every match
	// that has these tickets.
	admitsCandidate(l *lineup, c *candidate, lim *profile.Limits) bool
	// judgeLineup compares a line-up whose players have their teams and roles.
	judgeLineup(l *lineup, lim *profile.Limits) verdict
}

// verdict says how a rule holds for a line-up.
type verdict struct {
	holdingRegions uint64 // where it holds: every region for most rules
	value          float64
	limit          float64
	// excess is how far the line-up is from satisfying the rule, to compare line-ups; 0: the rule holds somewhere.
	excess   float64
	hasEnded bool // a step has ended the rule: it holds, and has measured nothing
}

const everywhere = ^uint64(0)

// eachRegion calls f for each region of a set, in the order of their names.
func eachRegion(set uint64, f func(region int)) {
	for ; set != 0; set &= set - 1 {
		f(bits.TrailingZeros64(set))
	}
}

// atMost returns the verdict of a rule that holds if value <= limit.
func atMost(value, limit float64) verdict {
	if value <= limit {
		return verdict{holdingRegions: everywhere, value: value, limit: limit}
	}
	// Relative to the limit, so that points, players and milliseconds can be added; and never 0, however near it is:
	// 0 says that the rule holds.
	return verdict{value: value, limit: limit,
		excess: math.Max((value-limit)/(1+math.Abs(limit)), math.SmallestNonzeroFloat64)}
}

// noneOffends returns the verdict of a rule that holds if there are no offences.
func noneOffends(offences int) verdict { return atMost(float64(offences), 0) }

// narrowerVerdict returns the verdict that leaves less room: one that does not hold, else the one whose value is
// nearest its limit.
func narrowerVerdict(a, b verdict) verdict {
	switch {
	case b.hasEnded:
		return a
	case a.hasEnded || b.excess > a.excess:
		return b
	case b.excess == a.excess && b.limit-b.value < a.limit-a.value:
		return b
	}
	return a
}

// disjointVerdict corrects the verdict of several rules of which each holds somewhere, but not in a common region.
func disjointVerdict(v verdict) verdict {
	if v.holdingRegions == 0 && v.excess == 0 {
		v.excess = 1
	}
	return v
}

// limitsAt returns the limits of the last step that an age has passed.
func (r *rule) limitsAt(age time.Duration) *profile.Limits {
	for i := len(r.limitSteps) - 1; i >= 0; i-- {
		if age >= r.limitSteps[i].AfterWait {
			return &r.limitSteps[i].Limits
		}
	}
	return &r.baseLimits
}

// everEnds reports whether the rule ends with time. A ticket that such a rule cannot compare waits until then.
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
	// Under one age for all, an old ticket would widen the rule for two young ones as well.
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

// verdictFor judges a line-up by the limits at the age that counts for the rule.
func (r *rule) verdictFor(l *lineup) verdict {
	if r.ageKind != profile.Each {
		return r.judgeAt(l, l.decidingAge(r.ageKind))
	}
	if p, ok := r.condition.(pairwise); ok {
		return p.judgePairs(l, r)
	}
	return r.judgeEachStep(l)
}

// judgeAt judges a line-up by the limits at an age.
func (r *rule) judgeAt(l *lineup, age time.Duration) verdict {
	lim := r.limitsAt(age)
	if lim.Ended {
		return verdict{holdingRegions: everywhere, hasEnded: true}
	}
	return r.condition.judgeLineup(l, lim)
}

// judgeEachStep judges a line-up by the limits of each ticket's step, all of which must hold.
func (r *rule) judgeEachStep(l *lineup) verdict {
	all := verdict{holdingRegions: everywhere, hasEnded: true}
	for step := range len(r.limitSteps) + 1 {
		c := slices.IndexFunc(l.picks, func(c *candidate) bool { return !c.isSeated && r.stepAt(l.ageOf(c)) == step })
		if c < 0 {
			continue
		}
		v := r.judgeAt(l, l.ageOf(l.picks[c]))
		// The rule holds in the regions of all steps, whichever verdict is shown.
		regions := all.holdingRegions & v.holdingRegions
		if all.hasEnded || v.excess > all.excess || v.excess == all.excess && v.limit < all.limit && !v.hasEnded {
			all = v
		}
		all.holdingRegions = regions
	}
	return all
}

// bindsTicket reports whether a rule whose age is Each has not ended for a ticket. A pair must satisfy the rule if it
// binds one of the two, since the narrower of two steps counts. It binds no ticket of an open match.
func (l *lineup) bindsTicket(r *rule, c *candidate) bool {
	return !c.isSeated && !r.limitsAt(l.ageOf(c)).Ended
}

// bindsAny reports whether a rule whose age is Each has not ended for one of the tickets.
func (l *lineup) bindsAny(r *rule) bool {
	return slices.ContainsFunc(l.picks, func(c *candidate) bool { return l.bindsTicket(r, c) })
}

// teamScopes returns the scope of the match, or one for each team.
func teamScopes(s scope, perTeam bool, l *lineup) []scope {
	if !perTeam {
		return []scope{s}
	}
	all := make([]scope, l.teamCount)
	for team := range all {
		all[team] = s.inTeam(team)
	}
	return all
}

// always is the condition of a kind that this release does not know, which reading the profile refuses.
type always struct{}

func (always) admitsCandidate(*lineup, *candidate, *profile.Limits) bool { return true }

func (always) judgeLineup(*lineup, *profile.Limits) verdict {
	return verdict{holdingRegions: everywhere}
}
