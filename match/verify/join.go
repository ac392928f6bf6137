package verify

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// checkJoining checks that the newcomers may join the session, and that the teams' free places then differ by one, or
// by no more than before.
func (c *checker) checkJoining() (found []Violation) {
	if c.match.Joins == nil {
		return nil
	}
	if c.p.JoinInProgress.When == profile.Never {
		found = append(found, newViolation("join_in_progress", "the profile joins no matches in progress"))
	}
	age := c.now.Sub(c.match.Joins.Started)
	if c.p.JoinInProgress.Within > 0 && age > c.p.JoinInProgress.Within {
		found = append(found, measuredViolation("join_in_progress", age.Seconds(), c.p.JoinInProgress.Within.Seconds(),
			"the session is %s old", age.Round(time.Second)))
	}
	before := c.freePlacesSpread(func(m member) bool { return m.inRoster })
	after := c.freePlacesSpread(func(member) bool { return true })
	if allowed := max(before, 1); after > allowed {
		found = append(found, measuredViolation("join_in_progress", float64(after), float64(allowed),
			"the teams' free places differ by %d afterwards", after))
	}
	return found
}

// freePlacesSpread returns the difference between the greatest and the least number of free places of a team, while the
// players that isThere selects are in it.
func (c *checker) freePlacesSpread(isThere func(member) bool) int {
	var freePlaces []int
	for _, t := range c.p.Teams {
		players := slices.DeleteFunc(c.membersIn(t.Name), func(m member) bool { return !isThere(m) })
		freePlaces = append(freePlaces, t.Max-len(players))
	}
	return slices.Max(freePlaces) - slices.Min(freePlaces)
}
