package verify

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// checkTeams checks that each player is in a team of the profile, and the number of players of each team.
func (c *checker) checkTeams() (found []Violation) {
	for _, m := range c.members {
		if !slices.Contains(c.teamNames(), m.seat.Team) {
			found = append(found, newViolation("teams", "player %s is in %q, which is no team of the profile",
				m.seat.Sub, m.seat.Team))
		}
	}
	for _, t := range c.p.Teams {
		found = append(found, c.checkTeamSize(t)...)
	}
	return found
}

func (c *checker) teamNames() (names []string) {
	for _, t := range c.p.Teams {
		names = append(names, t.Name)
	}
	return names
}

// checkTeamSize checks the number of players of a team.
func (c *checker) checkTeamSize(t profile.Team) []Violation {
	least, size := c.leastPlayers(t), len(c.membersIn(t.Name))
	if size > t.Max {
		return []Violation{measuredViolation("teams", float64(size), float64(t.Max),
			"team %s has %d players, more than %d", t.Name, size, t.Max)}
	}
	// A team that newcomers join may still be incomplete, whatever its least size and its step.
	if c.match.Joins != nil {
		return nil
	}
	if size < least {
		return []Violation{measuredViolation("teams", float64(size), float64(least),
			"team %s has %d players, fewer than %d", t.Name, size, least)}
	}
	if (size-least)%t.Step != 0 {
		return []Violation{measuredViolation("teams", float64(size), float64(t.Step),
			"team %s has %d players, no multiple of %d above %d", t.Name, size, t.Step, least)}
	}
	return nil
}

// leastPlayers returns the least size of a team at the age of the match. With Each, the size must be allowed at the age
// of every ticket, so that the greatest of their least sizes counts.
func (c *checker) leastPlayers(t profile.Team) int {
	least := 0
	for _, age := range c.agesFor(c.p.Age) {
		least = max(least, c.leastPlayersAt(t, age))
	}
	return least
}

// leastPlayersAt returns the least size of a team at an age: that of the team or, of the steps of "fewer" that name the
// team and have come, that of the last one.
func (c *checker) leastPlayersAt(t profile.Team, age time.Duration) int {
	// A valid profile has bots later than every step of fewer.
	if c.p.BotsAfter > 0 && age >= c.p.BotsAfter {
		return leastBesideBots(t)
	}
	least := t.Min
	for _, step := range c.p.Fewer {
		if players, namesTeam := step.Players[t.Name]; namesTeam && age >= step.AfterWait {
			least = players
		}
	}
	return least
}

// leastBesideBots returns the least size of a team that bots fill up, down to nobody: its players must suffice for its
// roles, and the bots must be a multiple of its step.
func leastBesideBots(t profile.Team) int {
	neededForRoles := 0
	for _, role := range t.Roles {
		neededForRoles += role.Min
	}
	for size := range t.Min {
		if size >= neededForRoles && (t.Min-size)%t.Step == 0 {
			return size
		}
	}
	return t.Min
}

// checkSplitParties checks that the players of a ticket are in several teams only where all of these allow it.
func (c *checker) checkSplitParties() (found []Violation) {
	allowsSplit := map[string]bool{}
	for _, t := range c.p.Teams {
		allowsSplit[t.Name] = t.AllowSplit
	}
	for i, a := range c.members {
		for _, b := range c.members[i+1:] {
			isSplit := a.seat.Ticket == b.seat.Ticket && a.seat.Team != b.seat.Team
			// Two of the roster were placed before this match.
			if isSplit && !(a.inRoster && b.inRoster) && !(allowsSplit[a.seat.Team] && allowsSplit[b.seat.Team]) {
				found = append(found, newViolation("parties", "ticket %s is in %s and %s", a.seat.Ticket, a.seat.Team,
					b.seat.Team))
			}
		}
	}
	return found
}
