package optimum

import "math"

// MaxTickets bounds one matching: so many take about a second of one core and 35 MiB. Time grows with their cube, memory
// with their square.
const MaxTickets = 700

// scale converts costs to the integers of the algorithm, whose sums are exact, in units of a billionth of the greatest
// cost.
const scale = 1 << 30

// Pairs returns the least sum of costs when each of n tickets is in one pair or alone. pair returns the cost of a pair,
// for i < j; +Inf: the two cannot meet. alone returns the cost of a ticket that is in no pair. Costs are at least 0, and
// n is at most [MaxTickets].
func Pairs(n int, pair func(i, j int) float64, alone func(i int) float64) float64 {
	total, highest := 0.0, 0.0
	for i := range n {
		total += alone(i)
		highest = max(highest, alone(i))
	}
	// No ticket costs anything alone: no pair saves anything, and the unit below would be 0.
	if highest == 0 {
		return 0
	}
	unit := highest / scale
	g := newGraph(n)
	for i := range n {
		for j := i + 1; j < n; j++ {
			// A pair is worth what it saves: the greatest sum of savings leaves the least cost.
			if saved := alone(i) + alone(j) - pair(i, j); saved > unit {
				g.addEdge(i, j, int64(math.Round(saved/unit)))
			}
		}
	}
	for i, j := range g.matchVertices() {
		if i < j {
			total += pair(i, j) - alone(i) - alone(j)
		}
	}
	return total
}
