package verify

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// checkTeams checks the number of players of each team.
func (g *game) checkTeams() (found []Violation) {
	for _, m := range g.members {
		if !slices.ContainsFunc(g.p.Teams, func(t profile.Team) bool { return t.Name == m.seat.Team }) {
			found = append(found, newViolation("teams", "player %s is in %q, which is no team of the profile",
				m.seat.Sub,
				m.seat.Team))
		}
	}
	for _, t := range g.p.Teams {
		found = append(found, g.checkTeamSize(t)...)
	}
	return found
}

// checkTeamSize checks a team's size. A team that newcomers join may be incomplete still, whatever its least size and
// step.
func (g *game) checkTeamSize(t profile.Team) []Violation {
	least, size := g.leastPlayers(t), len(g.membersIn(t.Name))
	// Whatever is joined, no team may be larger than the profile says.
	switch joins := g.match.Joins != nil; {
	case size > t.Max:
		return []Violation{measuredViolation("teams", float64(size), float64(t.Max),
			"team %s has %d players, more than %d",
			t.Name, size, t.Max)}
	case size < least && !joins:
		return []Violation{measuredViolation("teams", float64(size), float64(least),
			"team %s has %d players, fewer than %d",
			t.Name, size, least)}
	case (size-least)%t.Step != 0 && !joins:
		return []Violation{measuredViolation("teams", float64(size), float64(t.Step),
			"team %s has %d players, no multiple of %d above %d", t.Name, size, t.Step, least)}
	}
	return nil
}

// leastPlayers returns the least size of a team: the profile's or, of the steps of "fewer" that name it and hold by
// now, the last one's.
func (g *game) leastPlayers(t profile.Team) int {
	var sizes []int
	// With Each, the size must be allowed by the step of every ticket: the greatest of their least sizes counts.
	for _, age := range g.agesOf(g.p.Age) {
		size := t.Min
		for _, f := range g.p.Fewer {
			if n, ok := f.Players[t.Name]; ok && age >= f.AfterWait {
				size = n
			}
		}
		// Later than every step of fewer, which the profile's check demands.
		if g.p.BotsAfter > 0 && age >= g.p.BotsAfter {
			size = besideBots(t)
		}
		sizes = append(sizes, size)
	}
	return slices.Max(append(sizes, 0))
}

// besideBots returns the least of a team's sizes with which its roles can be filled, down to nobody.
func besideBots(t profile.Team) int {
	roles := 0
	for _, role := range t.Roles {
		roles += role.Min
	}
	for size := range t.Min {
		if size >= roles && (t.Min-size)%t.Step == 0 {
			return size
		}
	}
	return t.Min
}

// checkSplitParties checks that a ticket is in several teams only where all of them allow it.
func (g *game) checkSplitParties() (found []Violation) {
	split := map[string]bool{}
	for _, t := range g.p.Teams {
		split[t.Name] = t.AllowSplit
	}
	for _, a := range g.members {
		for _, b := range g.members {
			// Each pair once. Who is in the roster already has been placed by somebody else.
			apart := a.seat.Ticket == b.seat.Ticket && a.seat.Sub < b.seat.Sub && a.seat.Team != b.seat.Team &&
				!(a.isSeated && b.isSeated)
			if apart && !(split[a.seat.Team] && split[b.seat.Team]) {
				found = append(found, newViolation("parties", "ticket %s is in %s and %s", a.seat.Ticket, a.seat.Team,
					b.seat.Team))
			}
		}
	}
	return found
}

// checkRoles checks that each player with a role would take it, and how many of a team have it. After a join a role may
// be vacant still if its team has a free place for it.
func (g *game) checkRoles() (found []Violation) {
	for _, m := range g.members {
		if m.seat.Role != "" && !g.takesItsRole(m) {
			found = append(found, newViolation("roles",
				"player %s has the role %s, which it does not take or its team does not have", m.seat.Sub, m.seat.Role))
		}
	}
	for _, t := range g.p.Teams {
		vacant := 0
		if g.match.Joins != nil {
			vacant = t.Max - len(g.membersIn(t.Name))
		}
		for _, role := range t.Roles {
			n := len(slices.DeleteFunc(g.membersIn(t.Name), func(m member) bool { return m.seat.Role != role.Name }))
			// What the role lacks may come with later newcomers. Each free place serves one role only.
			filled := min(role.Min-n, vacant)
			if n > role.Max || n+max(filled, 0) < role.Min {
				found = append(found, measuredViolation("roles", float64(n), float64(role.Min),
					"team %s has %d of %s instead of %d to %d", t.Name, n, role.Name, role.Min, role.Max))
			}
			vacant -= max(filled, 0)
		}
	}
	return found
}

// takesItsRole reports whether the player would take the role that it has, and its team has that role.
func (g *game) takesItsRole(m member) bool {
	for _, t := range g.p.Teams {
		if t.Name == m.seat.Team && slices.ContainsFunc(t.Roles,
			func(r profile.Role) bool { return r.Name == m.seat.Role }) {
			return m.isSeated || slices.Contains(g.wishedRoles(m), m.seat.Role)
		}
	}
	return false
}

// wishedRoles returns the roles that a player would take.
func (g *game) wishedRoles(m member) []string {
	v, _ := g.ownValue("role", m)
	wishes := textsOf(v)
	if g.p.Autofill > 0 && !m.isSeated && m.ticketAge >= g.p.Autofill {
		for _, t := range g.p.Teams {
			for _, r := range t.Roles {
				wishes = append(slices.Clone(wishes), r.Name)
			}
		}
	}
	return wishes
}

// checkJoining checks whether the newcomers may join the session at all, and that they leave its teams as even as they
// can be.
func (g *game) checkJoining() (found []Violation) {
	if g.match.Joins == nil {
		return nil
	}
	if g.p.JoinInProgress.When == profile.Never {
		found = append(found, newViolation("join_in_progress", "the profile joins no matches in progress"))
	}
	age := g.now.Sub(g.match.Joins.Started)
	if g.p.JoinInProgress.Within > 0 && age > g.p.JoinInProgress.Within {
		found = append(found, measuredViolation("join_in_progress", age.Seconds(), g.p.JoinInProgress.Within.Seconds(),
			"the session is %s old",
			age.Round(time.Second)))
	}
	before := g.unevenBy(func(m member) bool { return m.isSeated })
	after := g.unevenBy(func(member) bool { return true })
	// By one seat, or by as much as before, the teams may differ.
	if allowed := max(before, 1); after > allowed {
		found = append(found, measuredViolation("join_in_progress", float64(after), float64(allowed),
			"the teams' free places differ by %d afterwards", after))
	}
	return found
}

// unevenBy returns the difference between the greatest and the least number of free places of a team.
func (g *game) unevenBy(counts func(member) bool) int {
	var free []int
	for _, t := range g.p.Teams {
		n := len(slices.DeleteFunc(g.membersIn(t.Name), func(m member) bool { return !counts(m) }))
		free = append(free, t.Max-n)
	}
	return slices.Max(free) - slices.Min(free)
}
