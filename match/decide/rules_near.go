package decide

import (
	"math"

	"github.com/lattice-director/director/match/profile"
)

// near holds if numbers differ by at most the limit: the greatest from the least, or each from their mean.
type near struct {
	scope             scope
	perTeam, fromMean bool
	toleranceColumn   int  // column of the tickets' own limits; noColumn
	mayHaveNoRole     bool // a match may have players in no role
}

func (n *near) admitsCandidate(l *lineup, c *candidate, lim *profile.Limits) bool {
	// It is not known yet who is in which team or role.
	if n.perTeam || n.scope.onlyRole != anyRole {
		return true
	}
	low, high := n.certainSpan(c)
	for _, pick := range l.picks {
		a, b := n.certainSpan(pick)
		low, high = min(low, a), max(high, b)
	}
	// The mean of the whole match lies somewhere between both ends: each of them may be a limit away from it.
	if n.fromMean {
		return low > high || high-low <= widenBound(2*lim.Within)
	}
	return low > high || high-low <= lim.Within
}

// widenBound widens a bound that was computed with rounding: it must not exclude what the exact rule allows.
func widenBound(x float64) float64 { return x + float64(math.Abs(x)*1e-12) + 1e-300 }

func (n *near) judgeLineup(l *lineup, lim *profile.Limits) verdict {
	widest := 0.0
	for _, s := range n.ownScopes(l) {
		l.scratchValues = l.gatherNumbers(l.scratchValues[:0], s)
		widest = max(widest, n.widestDistance(l.scratchValues))
	}
	return atMost(widest, lim.Within)
}

// widestDistance returns the greatest distance of two numbers, or of one from their mean.
func (n *near) widestDistance(values []float64) float64 {
	if !n.fromMean || len(values) == 0 {
		return spreadOf(values)
	}
	mean := sumValues(values) / float64(len(values))
	low, high := extremesOf(values)
	return max(mean-low, high-mean)
}

// ownScopes returns the scopes in each of which the numbers must be near.
func (n *near) ownScopes(l *lineup) []scope { return teamScopes(n.scope, n.perTeam, l) }

// judgePairs implements pairwise. It compares each pair of tickets by the narrower of their limits, or each ticket with
// the mean by its own.
func (n *near) judgePairs(l *lineup, r *rule) verdict {
	worst := verdict{holdingRegions: everywhere, hasEnded: true}
	for _, s := range n.ownScopes(l) {
		l.scratchValues = l.gatherNumbers(l.scratchValues[:0], s)
		mean := math.NaN()
		if len(l.scratchValues) > 0 {
			mean = sumValues(l.scratchValues) / float64(len(l.scratchValues))
		}
		for i := range l.picks {
			end := len(l.picks)
			if n.fromMean {
				end = i + 1 // each ticket with the mean, and not with others
			}
			for j := i; j < end; j++ {
				worst = narrowerVerdict(worst, n.judgePair(l, r, s, i, j, mean))
			}
		}
	}
	return worst
}

// judgePair compares two tickets, or the players of one if i == j.
func (n *near) judgePair(l *lineup, r *rule, s scope, i, j int, mean float64) verdict {
	limit := min(n.limitOf(l, r, l.picks[i]), n.limitOf(l, r, l.picks[j]))
	// The rule has ended for both tickets.
	if math.IsInf(limit, 1) {
		return verdict{holdingRegions: everywhere, hasEnded: true}
	}
	l.moreValues = l.gatherPick(l.moreValues[:0], i, s)
	if n.fromMean {
		low, high := extremesOf(l.moreValues)
		if low > high {
			return verdict{holdingRegions: everywhere, limit: limit}
		}
		return atMost(max(mean-low, high-mean), limit)
	}
	count := len(l.moreValues) // the numbers of i; those of j follow
	if i != j {
		l.moreValues = l.gatherPick(l.moreValues, j, s)
	}
	// One of the two has no number in scope: there is no difference.
	if count == 0 || i != j && len(l.moreValues) == count {
		return verdict{holdingRegions: everywhere, limit: limit}
	}
	if i == j {
		return atMost(spreadOf(l.moreValues), limit)
	}
	return atMost(greatestDifference(l.moreValues[:count], l.moreValues[count:]), limit)
}

// greatestDifference returns the greatest difference of a number of a from one of b.
func greatestDifference(a, b []float64) float64 {
	lowA, highA := extremesOf(a)
	lowB, highB := extremesOf(b)
	return max(highA-lowB, highB-lowA)
}

// admitsPairs implements pairwise.
func (n *near) admitsPairs(l *lineup, c *candidate, r *rule) bool {
	// A mean moves with every further ticket: no pair breaks the rule for good.
	if n.perTeam || n.fromMean || n.scope.onlyRole != anyRole {
		return true
	}
	own := n.limitOf(l, r, c)
	low, high := n.certainSpan(c)
	// Players of the ticket's own party are farther apart than its limit.
	if high-low > own {
		return false
	}
	for _, pick := range l.picks {
		a, b := n.certainSpan(pick)
		if max(high-a, b-low) > min(own, n.limitOf(l, r, pick)) {
			return false
		}
	}
	return true
}

// limitOf returns the limit at a ticket's age, or the ticket's own tolerance if it is smaller. A ticket of an open match
// has no age.
func (n *near) limitOf(l *lineup, r *rule, c *candidate) float64 {
	if c.isSeated {
		return n.ownTolerance(c)
	}
	lim := r.limitsAt(l.ageOf(c))
	if lim.Ended {
		return math.Inf(1)
	}
	return min(lim.Within, n.ownTolerance(c))
}

// ownTolerance returns the tolerance of a ticket: the smallest of its players'; +Inf: none has one.
func (n *near) ownTolerance(c *candidate) float64 {
	if n.toleranceColumn == noColumn {
		return math.Inf(1)
	}
	least := math.Inf(1)
	for _, x := range c.numbersOf(n.toleranceColumn) {
		if !math.IsNaN(x) { // a negative tolerance admits only equals
			least = min(least, max(0, x))
		}
	}
	return least
}

// certainSpan returns what the numbers of a ticket span at least, whatever roles its players get: its least number is at
// most low, and its greatest at least high. Without ratings by role these two are its numbers. low > high means that
// nothing is certain, as of one player whose roles have different numbers; a ticket whose players may be left out has
// infinities, with which no bound excludes it.
func (n *near) certainSpan(c *candidate) (low, high float64) {
	if n.scope.byRole == nil {
		return c.numberSpan(n.scope.column, n.scope.partyFold)
	}
	var least, greatest []float64
	for player := range c.playerCount {
		from, to := n.ratingsOf(c, player)
		if !(from <= to) { // the player may be left out, which changes what a party counts with
			return math.Inf(1), math.Inf(-1)
		}
		least, greatest = append(least, from), append(greatest, to)
	}
	// Each player has at most its greatest number, so the least of these is no less than the ticket's least number; and
	// at least its least number, so the greatest of these is no more than the ticket's greatest.
	low, _ = extremesOf(foldParty(greatest, 0, n.scope.partyFold))
	_, high = extremesOf(foldParty(least, 0, n.scope.partyFold))
	return low, high
}

// ratingsOf returns the least and the greatest number with which a player may count; NaN if the player may be left out.
func (n *near) ratingsOf(c *candidate, player int) (least, greatest float64) {
	// The player's role is given.
	if c.isSeated {
		x := c.ratingIn(&n.scope, player, c.takenSeats[player].roleIndex)
		return x, x
	}
	least, greatest = math.Inf(1), math.Inf(-1)
	if n.mayHaveNoRole {
		least = c.ratingIn(&n.scope, player, noRole)
		greatest = least
	}
	for _, role := range c.wantedRoles[player] {
		x := c.ratingIn(&n.scope, player, int(role))
		least, greatest = min(least, x), max(greatest, x)
	}
	return least, greatest
}
