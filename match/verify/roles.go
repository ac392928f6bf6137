package verify

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// checkRoles checks that each player with a role would take it, and how many players of a team have each role.
func (c *checker) checkRoles() (found []Violation) {
	for _, m := range c.members {
		if m.seat.Role != "" && !c.mayHaveItsRole(m) {
			found = append(found, newViolation("roles",
				"player %s has the role %s, which it does not take or its team does not have", m.seat.Sub, m.seat.Role))
		}
	}
	for _, t := range c.p.Teams {
		found = append(found, c.checkRolesOf(t)...)
	}
	return found
}

// checkRolesOf checks how many players of a team have each of its roles. After a join a role may still be vacant if the
// team has a free place for it, since later newcomers may have the role.
func (c *checker) checkRolesOf(t profile.Team) (found []Violation) {
	freePlaces := 0
	if c.match.Joins != nil {
		freePlaces = t.Max - len(c.membersIn(t.Name))
	}
	for _, role := range t.Roles {
		players := len(slices.DeleteFunc(c.membersIn(t.Name), func(m member) bool { return m.seat.Role != role.Name }))
		// Each free place serves one role only.
		fillable := max(0, min(role.Min-players, freePlaces))
		freePlaces -= fillable
		limit := role.Min
		if players > role.Max {
			limit = role.Max
		}
		if players > role.Max || players+fillable < role.Min {
			found = append(found, measuredViolation("roles", float64(players), float64(limit),
				"team %s has %d of %s instead of %d to %d", t.Name, players, role.Name, role.Min, role.Max))
		}
	}
	return found
}

// mayHaveItsRole reports whether the player's team has the role of its seat, and the player would take that role or has
// it already in a roster.
func (c *checker) mayHaveItsRole(m member) bool {
	for _, t := range c.p.Teams {
		if t.Name == m.seat.Team && slices.ContainsFunc(t.Roles,
			func(r profile.Role) bool { return r.Name == m.seat.Role }) {
			return m.inRoster || slices.Contains(c.wishedRoles(m), m.seat.Role)
		}
	}
	return false
}

// wishedRoles returns the roles that a player would take: those of its attribute and, once its ticket has waited for
// the profile's autofill, all others.
func (c *checker) wishedRoles(m member) []string {
	own, _ := c.ownValue("role", m)
	wished := slices.Clone(textsOf(own))
	if c.p.Autofill == 0 || m.inRoster || m.ticketAge < c.p.Autofill {
		return wished
	}
	for _, t := range c.p.Teams {
		for _, role := range t.Roles {
			wished = append(wished, role.Name)
		}
	}
	return wished
}
