package decide

import "github.com/lattice-director/director/match/profile"

// scope says whose numbers a rule takes, and how those of a party become one.
type scope struct {
	column    int   // of numbers, atoms or lists, by the rule's kind
	byRole    []int // by role: the column of players in it; nil: column
	partyFold profile.Fold
	onlyRole  int // of the players; anyRole: of all
	onlyTeam  int // anyTeam: of all
}

// anyRole and anyTeam are the scope of rules that look at all players.
const (
	anyRole = -1
	anyTeam = -1
)

// noTeam and noRole are the team and the role of a player who has none yet.
const (
	noTeam = -2
	noRole = -2
)

// noColumn stands for a column where there is none.
const noColumn = -1

// inTeam returns the scope for the players of one team.
func (s scope) inTeam(team int) scope {
	s.onlyTeam = team
	return s
}

// A rule may compare numbers that depend on the role that a player gets. Roles are given when the teams are full, so
// such a rule is judged then; before, it excludes only tickets that break it in whichever roles their players get.

// ratingIn returns the number with which a player counts in a role; NaN: it is left out.
func (c *candidate) ratingIn(s *scope, player, role int) float64 {
	column := s.column
	if s.byRole != nil && role >= 0 {
		column = s.byRole[role]
	}
	return c.numberValues[column*c.playerCount+player]
}

// wishedRating returns the number with which a player counts in the first of its roles.
func (c *candidate) wishedRating(column int, byRole []int, player int) float64 {
	role := noRole
	if len(c.wantedRoles[player]) > 0 {
		role = int(c.wantedRoles[player][0])
	}
	return c.ratingIn(&scope{column: column, byRole: byRole}, player, role)
}
