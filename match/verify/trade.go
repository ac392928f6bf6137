package verify

import (
	"math"
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// checkDue: the players of a new match have waited, in sum, for as long as it costs them, unless a ticket nears its
// end. Latency counts as nothing: the match may prefer a region that none of its players has measured, and the checker
// does not know which regions have room.
func (g *game) checkDue() []Violation {
	// A trade is about new matches: nobody waits to join. A match without tickets is reported by checkParties.
	if len(g.p.Trade) == 0 || g.match.Joins != nil || len(g.sortedAges) == 0 {
		return nil
	}
	// At nine tenths of its ttl, a ticket pays any price.
	if oldest := g.sortedAges[len(g.sortedAges)-1]; oldest >= g.p.TTL/10*9 {
		return nil
	}
	waited, cost := 0.0, 0.0
	for _, m := range g.members {
		waited += m.ticketAge.Seconds()
	}
	for _, t := range g.p.Trade {
		cost += g.paidFor(t) / t.PerSecond
	}
	if waited >= cost-rounding*(1+cost) {
		return nil
	}
	return []Violation{measuredViolation("trade", waited, cost,
		"players have waited for %.3f s in sum, and the match costs them %.3f s", waited, cost)}
}

// rounding is the share by which two ways to add the same numbers may differ; times are whole nanoseconds.
const rounding = 1e-9

// paidFor returns what the players pay of a quality, summed over them.
func (g *game) paidFor(t profile.Trade) float64 {
	switch t.Quality {
	case profile.OfLatency:
		return 0
	case profile.OfBalance:
		return g.paidForBalance(t)
	case profile.OfAttribute:
	}
	all := g.numbersIn("", t)
	return fromMean(all, slices.Repeat([]int{1}, len(all)))
}

func (g *game) numbersIn(team string, t profile.Trade) (all []float64) {
	for _, m := range g.membersIn(team) {
		// Players without the number pay nothing.
		if v, ok := g.ownValue(inRole(m, t.Attribute, t.ByRole), m); ok && v.Kind == match.Number {
			all = append(all, v.Number)
		}
	}
	return all
}

// fromMean returns the sum of the distances from the mean of values, each for so many players.
func fromMean(values []float64, players []int) (total float64) {
	mean, _ := foldNumbers(profile.FoldMean, values)
	for i, x := range values {
		total += float64(players[i]) * math.Abs(x-mean)
	}
	return total
}

func (g *game) paidForBalance(t profile.Trade) float64 {
	var values []float64
	var players []int
	for _, team := range g.teamNames() {
		if there := g.numbersIn(team, t); len(there) > 0 {
			value, _ := foldNumbers(t.Teams, there)
			values, players = append(values, value), append(players, len(there))
		}
	}
	return fromMean(values, players)
}
