package decide

import (
	"math"

	"github.com/lattice-director/director/match/profile"
)

// near holds if numbers differ by at most the limit: the greatest from the least, or each from their mean.
type near struct {
	scope             scope
	perTeam, fromMean bool
	tolerance         int  // column of the tickets' own limits; noColumn
	mayHaveNoRole     bool // a match may have players in no role
}

// noColumn is the column of what a rule does not have.
const noColumn = -1

func (n *near) admits(l *lineup, c *candidate, lim *profile.Limits) bool {
	if n.perTeam || n.scope.role != anyRole {
		return true
	}
	low, high := n.bounds(c)
	for _, pick := range l.picks {
		a, b := n.bounds(pick)
		low, high = min(low, a), max(high, b)
	}
	if n.fromMean { // numbers on both sides of their mean
		return low > high || high-low <= slack(2*lim.Within)
	}
	return low > high || high-low <= lim.Within
}

// slack widens a bound that was computed with rounding: it must not exclude what the exact rule allows.
func slack(x float64) float64 { return x + math.Abs(x)*1e-12 + 1e-300 }

func (n *near) judge(l *lineup, lim *profile.Limits) verdict {
	widest := 0.0
	for _, s := range n.scopes(l) {
		l.values = l.gather(l.values[:0], s)
		widest = max(widest, n.distance(l.values))
	}
	return atMost(widest, lim.Within)
}

func (n *near) distance(values []float64) float64 {
	if !n.fromMean || len(values) == 0 {
		return spread(values)
	}
	mean := sum(values) / float64(len(values))
	low, high := extremes(values)
	return max(mean-low, high-mean)
}

func (n *near) scopes(l *lineup) []scope { return scopes(n.scope, n.perTeam, l) }

// scopes returns the scope of the match, or one for each team.
func scopes(s scope, perTeam bool, l *lineup) []scope {
	if !perTeam {
		return []scope{s}
	}
	all := make([]scope, l.teams)
	for team := range all {
		all[team] = s.inTeam(team)
	}
	return all
}

// judgePairs compares each pair of tickets under the narrower of their limits, or each ticket with the mean under its
// own.
func (n *near) judgePairs(l *lineup, r *rule) verdict {
	worst := verdict{regions: everywhere, ended: true}
	for _, s := range n.scopes(l) {
		l.values = l.gather(l.values[:0], s)
		mean := math.NaN()
		if len(l.values) > 0 {
			mean = sum(l.values) / float64(len(l.values))
		}
		for i := range l.picks {
			last := len(l.picks)
			if n.fromMean {
				last = i + 1
			}
			for j := i; j < last; j++ {
				worst = narrower(worst, n.pair(l, r, s, i, j, mean))
			}
		}
	}
	return worst
}

// pair compares two tickets, or the players of one if i == j.
func (n *near) pair(l *lineup, r *rule, s scope, i, j int, mean float64) verdict {
	limit := min(n.limit(l, r, l.picks[i]), n.limit(l, r, l.picks[j]))
	if math.IsInf(limit, 1) {
		return verdict{regions: everywhere, ended: true}
	}
	l.moreValues = l.gatherPick(l.moreValues[:0], i, s)
	if n.fromMean {
		low, high := extremes(l.moreValues)
		if low > high {
			return verdict{regions: everywhere, limit: limit}
		}
		return atMost(max(mean-low, high-mean), limit)
	}
	a := len(l.moreValues)
	if i != j {
		l.moreValues = l.gatherPick(l.moreValues, j, s)
	}
	if a == 0 || i != j && len(l.moreValues) == a {
		return verdict{regions: everywhere, limit: limit}
	}
	return atMost(between(l.moreValues, a, i == j), limit)
}

// between returns the greatest difference of values[:a] from values[a:], or within values if same.
func between(values []float64, a int, same bool) float64 {
	if same {
		return spread(values)
	}
	low, high := extremes(values[:a])
	low2, high2 := extremes(values[a:])
	return max(high-low2, high2-low)
}

func (n *near) admitsPairs(l *lineup, c *candidate, r *rule) bool {
	if n.perTeam || n.fromMean || n.scope.role != anyRole {
		return true
	}
	own := n.limit(l, r, c)
	low, high := n.bounds(c)
	if high-low > own {
		return false
	}
	for _, pick := range l.picks {
		a, b := n.bounds(pick)
		if max(high-a, b-low) > min(own, n.limit(l, r, pick)) {
			return false
		}
	}
	return true
}

// limit returns the limit of a ticket's age, or a smaller one of its own. One that is in the match already has no age.
func (n *near) limit(l *lineup, r *rule, c *candidate) float64 {
	if c.seated {
		return n.own(c)
	}
	lim := r.limits(l.ageOf(c))
	if lim.Ended {
		return math.Inf(1)
	}
	return min(lim.Within, n.own(c))
}

// own returns the tolerance of a ticket: the smallest of its players'. Without one it has no limit of its own.
func (n *near) own(c *candidate) float64 {
	if n.tolerance == noColumn {
		return math.Inf(1)
	}
	least := math.Inf(1)
	for _, x := range c.column(n.tolerance) {
		if x == x {
			least = min(least, max(0, x))
		}
	}
	return least
}

// narrower returns the verdict that leaves less room: one that does not hold, else the one whose value is nearest its
// limit.
func narrower(a, b verdict) verdict {
	switch {
	case b.ended:
		return a
	case a.ended || b.excess > a.excess:
		return b
	case b.excess == a.excess && b.limit-b.value < a.limit-a.value:
		return b
	}
	return a
}
