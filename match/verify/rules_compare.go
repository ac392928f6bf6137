package verify

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// checkCompare checks that each of the left numbers compares as wanted with each of the right. Without a number on one
// side the rule holds.
func (c *checker) checkCompare(r profile.Rule) (found []Violation) {
	for _, l := range c.limitsOf(r) {
		if l.Ended {
			continue
		}
		right := []float64{l.Number}
		if r.Compare.Against != nil {
			right = c.measureNumbers(r, *r.Compare.Against)
		}
		for _, a := range c.measureNumbers(r, r.Compare.Measure) {
			for _, b := range right {
				if !comparisonHolds(a, r.Compare.Operator, b) {
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
func (c *checker) measureNumbers(r profile.Rule, m profile.Measure) []float64 {
	if m.Take == profile.FoldCount && m.Attribute == "" {
		return []float64{c.countPlayers(r, m.Team)}
	}
	kinds := numbers
	if m.Take == profile.FoldCount {
		// Players count who have a value of any type.
		kinds = anything
	}
	values := numbersOf(entriesOf(c.entriesByRole(r, m.Attribute, m.ByRole, kinds...), m.Team))
	if m.Take == profile.FoldEach {
		return values
	}
	if n, ok := foldNumbers(m.Take, values); ok {
		return []float64{n}
	}
	return nil
}

// countPlayers returns how many players of a team a rule is about; of "" how many of the match.
func (c *checker) countPlayers(r profile.Rule, team string) float64 {
	return float64(len(slices.DeleteFunc(c.countedMembers(r),
		func(m member) bool { return team != "" && m.seat.Team != team })))
}

func comparisonHolds(a float64, operator profile.Operator, b float64) bool {
	switch operator {
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
