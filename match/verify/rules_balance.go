package verify

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// checkBalance checks that the teams' values differ by no more than the limit. A team of which no player counts has
// none.
func (c *checker) checkBalance(r profile.Rule) []Violation {
	entries := c.entriesByRole(r, r.Attribute, r.ByRole, numbers...)
	var values []float64
	for _, team := range c.teamNames() {
		if ofTeam := numbersOf(entriesOf(entries, team)); len(ofTeam) > 0 {
			value, _ := foldNumbers(r.Teams, ofTeam)
			values = append(values, value)
		}
	}
	return c.checkSpread(r, values, "the teams' values")
}

// checkSizes checks that the teams' numbers of players differ by no more than the limit.
func (c *checker) checkSizes(r profile.Rule) []Violation {
	var sizes []float64
	for _, team := range c.teamNames() {
		sizes = append(sizes, float64(len(c.membersIn(team))))
	}
	return c.checkSpread(r, sizes, "the teams' sizes")
}

// checkPartySizes checks that the teams' largest parties differ by no more than the limit.
func (c *checker) checkPartySizes(r profile.Rule) []Violation {
	var largestParties []float64
	for _, team := range c.teamNames() {
		sizeByTicket, largest := map[string]int{}, 0
		for _, m := range c.membersIn(team) {
			sizeByTicket[m.seat.Ticket]++
			largest = max(largest, sizeByTicket[m.seat.Ticket])
		}
		largestParties = append(largestParties, float64(largest))
	}
	return c.checkSpread(r, largestParties, "the teams' largest parties")
}

// checkSpread checks the difference between the greatest and the least of the teams' values. A violation says what they
// are.
func (c *checker) checkSpread(r profile.Rule, values []float64, what string) (found []Violation) {
	if len(values) == 0 {
		return nil
	}
	spread := slices.Max(values) - slices.Min(values)
	for _, l := range c.limitsOf(r) {
		found = append(found, checkWithin(r.ID, spread, l, "%s differ by too much", what)...)
	}
	return found
}
