package verify

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// checkCount checks how many players, of each team or of the match, have one of the values.
func (c *checker) checkCount(r profile.Rule) (found []Violation) {
	entries := c.comparedEntries(r, r.Attribute, texts...)
	for _, team := range c.teamScopes(r) {
		players := len(slices.DeleteFunc(entriesOf(entries, team),
			func(e entry) bool { return !hasAny(textsOf(e.value), r.AnyOf) }))
		for _, l := range c.limitsOf(r) {
			if l.Ended || players >= l.Min && players <= l.Max {
				continue
			}
			limit := l.Max
			if players < l.Min {
				limit = l.Min
			}
			found = append(found, measuredViolation(r.ID, float64(players), float64(limit),
				"%d players have one of %q instead of %d to %d", players, r.AnyOf, l.Min, l.Max))
		}
	}
	return found
}

func hasAny(has, wanted []string) bool {
	return slices.ContainsFunc(has, func(t string) bool { return slices.Contains(wanted, t) })
}
