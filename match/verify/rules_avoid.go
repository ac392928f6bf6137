package verify

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// checkAvoid checks that nobody lists another player's sub or, per team, a teammate's.
func (c *checker) checkAvoid(r profile.Rule) (found []Violation) {
	for _, e := range c.comparedEntries(r, r.Attribute, texts...) {
		for _, other := range c.countedMembers(r) {
			// Players who list themselves avoid nobody by that.
			isListed := other.seat.Sub != e.holderName && slices.Contains(textsOf(e.value), other.seat.Sub)
			mayMeet := r.PerTeam && !slices.Contains(e.teamNames, other.seat.Team)
			if isListed && !mayMeet && !hasEnded(c.limitsBetween(r, e.ticket, other.seat.Ticket)) {
				found = append(found, newViolation(r.ID, "%s avoids %s", e.holderName, other.seat.Sub))
			}
		}
	}
	return found
}
