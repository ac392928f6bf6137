package decide

import (
	"math"
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// casting gives roles to players by bipartite matching: players on one side, the places of roles on the other. It looks
// for augmenting paths, from a place that is still empty over players who change to another place.
type casting struct {
	line        *lineup
	wantedRoles [][]uint8 // by player: what it would take
	visited     []bool    // by player
}

// resetRoles takes all roles from the players, except from those who have their seats already.
func (k *casting) resetRoles(l *lineup) {
	k.line = l
	k.wantedRoles = k.wantedRoles[:0]
	for pick, c := range l.picks {
		for i := range c.playerCount {
			p := l.firstPlayer[pick] + i
			switch {
			case c.isSeated:
				l.roleByPlayer[p] = c.takenSeats[i].roleIndex
				k.wantedRoles = append(k.wantedRoles, nil)
			case c.wantedRoles != nil:
				l.roleByPlayer[p] = noRole
				k.wantedRoles = append(k.wantedRoles, c.wantedRoles[i])
			default:
				l.roleByPlayer[p] = noRole
				k.wantedRoles = append(k.wantedRoles, nil)
			}
		}
	}
}

// castRoles fills the least number of each role's places with players of the team, or of the match with anyTeam, and returns
// how many places stay empty.
func (k *casting) castRoles(team int, needs []roleNeed) (empty int) {
	for _, need := range needs {
		for n := k.countHolders(team, need.roleIndex); n < need.minPlayers; n++ {
			k.visited = slices.Grow(k.visited[:0], len(k.wantedRoles))[:len(k.wantedRoles)]
			clear(k.visited)
			if !k.augmentRole(team, need.roleIndex) {
				empty++
			}
		}
	}
	return empty
}

// recastTeam casts the roles of one team anew. Nobody of it may have a seat already.
func (k *casting) recastTeam(team int, needs []roleNeed) (empty int) {
	for p, t := range k.line.teamByPlayer {
		if t == team {
			k.line.roleByPlayer[p] = noRole
		}
	}
	return k.castRoles(team, needs)
}

// augmentRole finds a player for one more place of a role: one without a role, or one whose own place another player takes.
// Players that prefer the role come first.
func (k *casting) augmentRole(team, role int) bool {
	deepest := 0
	for rank := 0; rank <= deepest; rank++ {
		for p, would := range k.wantedRoles {
			if team != anyTeam && k.line.teamByPlayer[p] != team {
				continue
			}
			deepest = max(deepest, len(would)-1)
			if rank >= len(would) || int(would[rank]) != role || k.visited[p] {
				continue
			}
			k.visited[p] = true
			if held := k.line.roleByPlayer[p]; held == noRole || held != role && k.augmentRole(team, held) {
				k.line.roleByPlayer[p] = role
				return true
			}
		}
	}
	return false
}

// castMore gives players without a role the first of their roles that may still have one more player.
func (k *casting) castMore(team int, needs []roleNeed) {
	for p, would := range k.wantedRoles {
		if k.line.teamByPlayer[p] != team || k.line.roleByPlayer[p] != noRole {
			continue
		}
		for _, role := range would {
			i := slices.IndexFunc(needs, func(n roleNeed) bool { return n.roleIndex == int(role) })
			if i >= 0 && k.countHolders(team, needs[i].roleIndex) < needs[i].maxPlayers {
				k.line.roleByPlayer[p] = needs[i].roleIndex
				break
			}
		}
	}
}

func (k *casting) countHolders(team, role int) int {
	n := 0
	for p, r := range k.line.roleByPlayer {
		if r == role && (team == anyTeam || k.line.teamByPlayer[p] == team) {
			n++
		}
	}
	return n
}

// A rule may compare numbers that depend on the role that a player gets. Roles are given when the teams are full, so
// such a rule is judged then; before, it excludes only tickets that break it in whichever roles their players get.

// ratesRoles reports whether a rule compares numbers that depend on roles.
func ratesRoles(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool { return r.Rates() || ratesRoles(r.Rules) })
}

// byRole returns by role the column of players in it, which is like col; nil if it is the same for all.
func (pl *plan) byRole(all []profile.RoleAttribute, col column) []int {
	if len(all) == 0 {
		return nil
	}
	columns := slices.Repeat([]int{pl.numberColumn(col)}, len(pl.roleNames))
	for _, by := range all {
		own := col
		own.attribute, own.onlyRole = by.Attribute, pl.roleNumber(by.Role)
		if own.onlyRole >= 0 {
			columns[own.onlyRole] = pl.numberColumn(own)
		}
	}
	return columns
}

// mayHaveNoRole reports whether a match may have players in no role.
func (pl *plan) mayHaveNoRole() bool {
	return slices.ContainsFunc(pl.teams, func(t team) bool {
		needed := 0
		for _, need := range t.roleNeeds {
			needed += need.minPlayers
		}
		return needed < t.spec.Max
	})
}

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

// spanOf returns the least and the greatest number of a party along the pivot, in the roles that its players wish first;
// low > high if all are left out.
func (p *pivot) spanOf(c *candidate) (low, high float64) {
	if p.byRole == nil {
		return c.numberSpan(p.numberColumn, p.partyFold)
	}
	var wished []float64
	for player := range c.playerCount {
		if x := c.wishedRating(p.numberColumn, p.byRole, player); x == x {
			wished = append(wished, x)
		}
	}
	return extremesOf(foldParty(wished, 0, p.partyFold))
}

// boundsOf returns numbers that a ticket reaches in any case: its least number is at most low, and its greatest is at
// least high. Without ratings by role they are its least and greatest number. low > high says little or, with
// infinities, that all its players are left out.
func (n *near) boundsOf(c *candidate) (low, high float64) {
	if n.scope.byRole == nil {
		return c.numberSpan(n.scope.column, n.scope.partyFold)
	}
	var least, greatest []float64
	for player := range c.playerCount {
		from, to := n.ratingsOf(c, player)
		if !(from <= to) { // the player may be left out, which changes what a party counts with
			return math.Inf(1), math.Inf(-1)
		}
		least, greatest = append(least, from), append(greatest, to)
	}
	low, _ = extremesOf(foldParty(greatest, 0, n.scope.partyFold))
	_, high = extremesOf(foldParty(least, 0, n.scope.partyFold))
	return low, high
}

// ratingsOf returns the least and the greatest number with which a player may count; NaN if it may be left out.
func (n *near) ratingsOf(c *candidate, player int) (least, greatest float64) {
	if c.isSeated {
		x := c.ratingIn(&n.scope, player, c.takenSeats[player].roleIndex)
		return x, x
	}
	least, greatest = math.Inf(1), math.Inf(-1)
	if n.mayHaveNoRole {
		least = c.ratingIn(&n.scope, player, noRole)
		greatest = least
	}
	for _, role := range c.wantedRoles[player] {
		x := c.ratingIn(&n.scope, player, int(role))
		least, greatest = min(least, x), max(greatest, x)
	}
	return least, greatest
}

// maxRoleExchanges bounds how often the rules are judged for other roles in the same teams.
const maxRoleExchanges = 64

// exchangeRoles lets two players of a team exchange their roles as long as that brings the line-up nearer to holding,
// and returns how far it is then from that. What it finds depends on the line-up alone, so that a match that holds once
// holds whenever it is judged.
func (s *search) exchangeRoles(v float64) float64 {
	l, tried := &s.finalLine, 0
	for improved := true; improved; {
		improved = false
		for p := range l.roleByPlayer {
			for q := p + 1; q < l.playerCount; q++ {
				if !s.casting.mayExchange(p, q) {
					continue
				}
				if tried++; tried > maxRoleExchanges {
					return v
				}
				s.stepsLeft--
				l.roleByPlayer[p], l.roleByPlayer[q] = l.roleByPlayer[q], l.roleByPlayer[p]
				next := s.violationOf(0)
				if next == 0 {
					return 0
				}
				if next < v {
					v, improved = next, true
				} else {
					l.roleByPlayer[p], l.roleByPlayer[q] = l.roleByPlayer[q], l.roleByPlayer[p]
				}
			}
		}
	}
	return v
}

// mayExchange reports whether two players of a team would take each other's role.
func (k *casting) mayExchange(p, q int) bool {
	a, b := k.line.roleByPlayer[p], k.line.roleByPlayer[q]
	return a != b && k.line.teamByPlayer[p] == k.line.teamByPlayer[q] && k.wouldTake(p, b) && k.wouldTake(q, a)
}

// wouldTake reports whether a player would take a role, or none. Players who have their seats already would not.
func (k *casting) wouldTake(player, role int) bool {
	would := k.wantedRoles[player]
	return len(would) > 0 && (role == noRole || slices.Contains(would, uint8(role)))
}
