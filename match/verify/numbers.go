package verify

import (
	"math"
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// checkNear: the greatest difference of two players, or from the mean of all, is within the limit.
func (g *game) checkNear(r profile.Rule) (found []Violation) {
	entries := g.ratedEntries(r, r.Attribute, r.ByRole, numbers...)
	for _, team := range g.teamScopes(r.PerTeam) {
		there := entriesOf(entries, team)
		if r.FromMean {
			found = append(found, g.fromMean(r, there)...)
		} else {
			found = append(found, g.checkApart(r, there)...)
		}
	}
	return found
}

// checkApart compares each pair of players, by the limits of both tickets.
func (g *game) checkApart(r profile.Rule, entries []entry) (found []Violation) {
	for i, a := range entries {
		for _, b := range entries[i+1:] {
			distance := math.Abs(a.value.Number - b.value.Number)
			// Of several limits all must hold, that is, the narrowest.
			for _, l := range append(g.limitsBetween(r, a.ticket, b.ticket),
				g.ownTolerances(r, a.ticket, b.ticket)...) {
				found = append(found, atMost(r.ID, distance, l, "%s and %s are too far apart", a.holderName,
					b.holderName)...)
			}
		}
	}
	return found
}

// ownTolerances returns the limits of two tickets' own, in rules that have such.
func (g *game) ownTolerances(r profile.Rule, tickets ...string) (found []profile.Limits) {
	for _, m := range g.membersIn("") {
		v, ok := g.ownValue(r.Tolerance, m)
		if r.Tolerance == "" || !ok || v.Kind != match.Number || !slices.Contains(tickets, m.seat.Ticket) {
			continue
		}
		// A roster has no ages by which its limits could have ended.
		if m.isSeated || !limitsAt(r, m.ticketAge).Ended {
			// A negative tolerance accepts only equals.
			found = append(found, profile.Limits{Within: max(0, v.Number)})
		}
	}
	return found
}

// fromMean compares each player with the mean of all, by the limits of its ticket.
func (g *game) fromMean(r profile.Rule, entries []entry) (found []Violation) {
	mean, _ := foldNumbers(profile.FoldMean, numbersOf(entries))
	for _, e := range entries {
		for _, l := range g.limitsBetween(r, e.ticket) {
			found = append(found, atMost(r.ID, math.Abs(e.value.Number-mean), l, "%s is too far from the mean",
				e.holderName)...)
		}
	}
	return found
}

// atMost returns a violation if the value is above the limit.
func atMost(rule string, value float64, l profile.Limits, format string, args ...any) []Violation {
	if l.Ended || value <= l.Within {
		return nil
	}
	return []Violation{measuredViolation(rule, value, l.Within, format, args...)}
}

// checkBalance: the teams' values differ by no more than the limit. A team of which no player counts has none.
func (g *game) checkBalance(r profile.Rule) []Violation {
	entries := g.ratedEntries(r, r.Attribute, r.ByRole, numbers...)
	var values []float64
	for _, team := range g.teamNames() {
		if there := numbersOf(entriesOf(entries, team)); len(there) > 0 {
			value, _ := foldNumbers(r.Teams, there)
			values = append(values, value)
		}
	}
	return g.checkSpread(r, values, "the teams' values")
}

// checkSizes: the teams' numbers of players differ by no more than the limit.
func (g *game) checkSizes(r profile.Rule) []Violation {
	var values []float64
	for _, team := range g.teamNames() {
		values = append(values, float64(len(g.membersIn(team))))
	}
	return g.checkSpread(r, values, "the teams' sizes")
}

// checkPartySizes: the teams' largest parties differ by no more than the limit.
func (g *game) checkPartySizes(r profile.Rule) []Violation {
	var values []float64
	for _, team := range g.teamNames() {
		sizes, largest := map[string]int{}, 0
		for _, m := range g.membersIn(team) {
			sizes[m.seat.Ticket]++
			largest = max(largest, sizes[m.seat.Ticket])
		}
		values = append(values, float64(largest))
	}
	return g.checkSpread(r, values, "the teams' largest parties")
}

// checkSpread compares the greatest of the teams' values with the least.
func (g *game) checkSpread(r profile.Rule, values []float64, what string) (found []Violation) {
	if len(values) == 0 {
		return nil
	}
	for _, l := range g.limitsNow(r) {
		found = append(found, atMost(r.ID, slices.Max(values)-slices.Min(values), l, "%s differ by too much", what)...)
	}
	return found
}

// checkCompare: each of the left numbers compares as wanted with each of the right. Without a number on one side it
// holds.
func (g *game) checkCompare(r profile.Rule) (found []Violation) {
	for _, l := range g.limitsNow(r) {
		right := []float64{l.Number}
		if r.Compare.Against != nil {
			right = g.measureNumbers(r, *r.Compare.Against)
		}
		for _, a := range g.measureNumbers(r, r.Compare.Measure) {
			for _, b := range right {
				if !l.Ended && !comparisonHolds(a, r.Compare.Operator, b) {
					found = append(found,
						measuredViolation(r.ID, a, b, "%v does not compare with %v as it has to", a, b))
				}
			}
		}
	}
	return found
}

// measureNumbers returns the numbers that a measure takes: one of each player, one of all, or none where there is
// nobody to take it of.
func (g *game) measureNumbers(r profile.Rule, m profile.Measure) []float64 {
	if m.Take == profile.FoldCount && m.Attribute == "" {
		// A count without an attribute is one of players, whatever they have.
		return []float64{float64(len(slices.DeleteFunc(g.countedMembers(r),
			func(p member) bool { return m.Team != "" && p.seat.Team != m.Team })))}
	}
	kinds := numbers
	if m.Take == profile.FoldCount {
		// Players count who have a value of any type.
		kinds = anything
	}
	values := numbersOf(entriesOf(g.ratedEntries(r, m.Attribute, m.ByRole, kinds...), m.Team))
	if m.Take == profile.FoldEach {
		return values
	}
	if n, ok := foldNumbers(m.Take, values); ok {
		return []float64{n}
	}
	return nil
}

func comparisonHolds(a float64, is profile.Operator, b float64) bool {
	switch is {
	case profile.Less:
		return a < b
	case profile.LessOrEqual:
		return a <= b
	case profile.Equal:
		return a == b
	case profile.NotEqual:
		return a != b
	case profile.GreaterOrEqual:
		return a >= b
	case profile.Greater:
		return a > b
	}
	return false
}
