package verify

import (
	"math"
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// checkDue checks that the players of a new match have waited, in sum, for as long as it costs them, unless a ticket is
// near its end. Latency counts as nothing: the match may prefer a region that none of its players has measured, and the
// checker does not know which regions have room.
func (c *checker) checkDue() []Violation {
	// A trade is about new matches: nobody waits to join. A match without tickets is reported by checkWhole.
	if len(c.p.Trade) == 0 || c.match.Joins != nil || len(c.sortedAges) == 0 {
		return nil
	}
	// At nine tenths of its ttl, a ticket pays any price.
	if oldest := c.sortedAges[len(c.sortedAges)-1]; oldest >= c.p.TTL/10*9 {
		return nil
	}
	var waited, cost float64 // in seconds
	for _, m := range c.members {
		waited += m.ticketAge.Seconds()
	}
	for _, t := range c.p.Trade {
		cost += c.qualityLoss(t) / t.PerSecond
	}
	// 1 is added for costs near 0: of those the error is a nanosecond, the unit of times.
	if waited >= cost-roundingError*(1+cost) {
		return nil
	}
	return []Violation{measuredViolation("trade", waited, cost,
		"players have waited for %.3f s in sum, and the match costs them %.3f s", waited, cost)}
}

// roundingError is the share by which the sums of the same numbers may differ that are added in other orders.
const roundingError = 1e-9

// qualityLoss returns how much of a quality the match lacks, summed over its players, in the quality's unit.
func (c *checker) qualityLoss(t profile.Trade) float64 {
	switch t.Quality {
	case profile.OfLatency:
		return 0
	case profile.OfBalance:
		return c.balanceLoss(t)
	default: // profile.OfAttribute
		values := c.tradedNumbers("", t)
		return distancesFromMean(values, slices.Repeat([]int{1}, len(values)))
	}
}

// balanceLoss returns the distances of the teams' values from their mean, summed over the players.
func (c *checker) balanceLoss(t profile.Trade) float64 {
	var values []float64
	var players []int
	for _, team := range c.teamNames() {
		if numbers := c.tradedNumbers(team, t); len(numbers) > 0 {
			value, _ := foldNumbers(t.Teams, numbers)
			values, players = append(values, value), append(players, len(numbers))
		}
	}
	return distancesFromMean(values, players)
}

// tradedNumbers returns what a trade compares of the players of a team; of "" of all. Players without the number lose
// nothing, and are left out.
func (c *checker) tradedNumbers(team string, t profile.Trade) (numbers []float64) {
	for _, m := range c.membersIn(team) {
		if v, ok := c.ownValue(attributeInRole(m, t.Attribute, t.ByRole), m); ok && v.Kind == match.Number {
			numbers = append(numbers, v.Number)
		}
	}
	return numbers
}

// distancesFromMean returns the sum of the players' distances from the mean of the values: the i-th value is that of
// players[i] players. Each value counts once in the mean.
func distancesFromMean(values []float64, players []int) (sum float64) {
	mean, _ := foldNumbers(profile.FoldMean, values)
	for i, value := range values {
		sum += float64(players[i]) * math.Abs(value-mean)
	}
	return sum
}
