package verify

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// checkEquality checks that all values are equal, of a rule same, or no two of them, of a rule different.
func (c *checker) checkEquality(r profile.Rule) (found []Violation) {
	entries := c.comparedEntries(r, r.Attribute, anything...)
	for _, team := range c.teamScopes(r) {
		ofTeam := entriesOf(entries, team)
		for i, a := range ofTeam {
			for _, b := range ofTeam[i+1:] {
				if equalValues(a.value, b.value) != (r.Kind == profile.Same) &&
					!hasEnded(c.limitsBetween(r, a.ticket, b.ticket)) {
					found = append(found, newViolation(r.ID, "%s and %s do not fit", a.holderName, b.holderName))
				}
			}
		}
	}
	return found
}

// equalValues reports whether two values are equal. Texts are compared by bytes.
func equalValues(a, b match.Value) bool {
	return a.Kind == b.Kind && a.Number == b.Number && a.Text == b.Text && slices.Equal(a.List, b.List)
}
