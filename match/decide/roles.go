package decide

import (
	"math"
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// casting gives roles to players by bipartite matching: players on one side, the places of roles on the other. It looks
// for augmenting paths, from a place that is still empty over players who change to another place.
type casting struct {
	line    *lineup
	roles   [][]uint8 // by player: what it would take
	visited []bool    // by player
}

// begin takes all roles from the players, except from those who have their seats already.
func (k *casting) begin(l *lineup) {
	k.line = l
	k.roles = k.roles[:0]
	for pick, c := range l.picks {
		for i := range c.size {
			p := l.first[pick] + i
			switch {
			case c.seated:
				l.role[p] = c.seats[i].role
				k.roles = append(k.roles, nil)
			case c.roles != nil:
				l.role[p] = noRole
				k.roles = append(k.roles, c.roles[i])
			default:
				l.role[p] = noRole
				k.roles = append(k.roles, nil)
			}
		}
	}
}

// cast fills the least number of each role's places with players of the team, or of the match with anyTeam, and returns
// how many places stay empty.
func (k *casting) cast(team int, needs []roleNeed) (empty int) {
	for _, need := range needs {
		for n := k.holders(team, need.role); n < need.min; n++ {
			k.visited = slices.Grow(k.visited[:0], len(k.roles))[:len(k.roles)]
			clear(k.visited)
			if !k.augment(team, need.role) {
				empty++
			}
		}
	}
	return empty
}

// recast casts the roles of one team anew. Nobody of it may have a seat already.
func (k *casting) recast(team int, needs []roleNeed) (empty int) {
	for p, t := range k.line.team {
		if t == team {
			k.line.role[p] = noRole
		}
	}
	return k.cast(team, needs)
}

// augment finds a player for one more place of a role: one without a role, or one whose own place another player takes.
// Players that prefer the role come first.
func (k *casting) augment(team, role int) bool {
	deepest := 0
	for rank := 0; rank <= deepest; rank++ {
		for p, would := range k.roles {
			if team != anyTeam && k.line.team[p] != team {
				continue
			}
			deepest = max(deepest, len(would)-1)
			if rank >= len(would) || int(would[rank]) != role || k.visited[p] {
				continue
			}
			k.visited[p] = true
			if held := k.line.role[p]; held == noRole || held != role && k.augment(team, held) {
				k.line.role[p] = role
				return true
			}
		}
	}
	return false
}

// castMore gives players without a role the first of their roles that may still have one more player.
func (k *casting) castMore(team int, needs []roleNeed) {
	for p, would := range k.roles {
		if k.line.team[p] != team || k.line.role[p] != noRole {
			continue
		}
		for _, role := range would {
			i := slices.IndexFunc(needs, func(n roleNeed) bool { return n.role == int(role) })
			if i >= 0 && k.holders(team, needs[i].role) < needs[i].max {
				k.line.role[p] = needs[i].role
				break
			}
		}
	}
}

func (k *casting) holders(team, role int) int {
	n := 0
	for p, r := range k.line.role {
		if r == role && (team == anyTeam || k.line.team[p] == team) {
			n++
		}
	}
	return n
}

// A rule may compare numbers that depend on the role that a player gets. Roles are given when the teams are full, so
// such a rule is judged then; before, it excludes only tickets that break it in whichever roles their players get.

// rates reports whether a rule compares numbers that depend on roles.
func rates(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool { return r.Rates() || rates(r.Rules) })
}

// byRole returns by role the column of players in it, which is like col; nil if it is the same for all.
func (pl *plan) byRole(all []profile.RoleAttribute, col column) []int {
	if len(all) == 0 {
		return nil
	}
	columns := slices.Repeat([]int{pl.number(col)}, len(pl.roles))
	for _, by := range all {
		own := col
		own.attribute, own.role = by.Attribute, pl.role(by.Role)
		if own.role >= 0 {
			columns[own.role] = pl.number(own)
		}
	}
	return columns
}

// mayHaveNoRole reports whether a match may have players in no role.
func (pl *plan) mayHaveNoRole() bool {
	return slices.ContainsFunc(pl.teams, func(t team) bool {
		needed := 0
		for _, need := range t.roles {
			needed += need.min
		}
		return needed < t.spec.Max
	})
}

// rating returns the number with which a player counts in a role; NaN: it is left out.
func (c *candidate) rating(s *scope, player, role int) float64 {
	column := s.column
	if s.byRole != nil && role >= 0 {
		column = s.byRole[role]
	}
	return c.numbers[column*c.size+player]
}

// wishedRating returns the number with which a player counts in the first of its roles.
func (c *candidate) wishedRating(column int, byRole []int, player int) float64 {
	role := noRole
	if len(c.roles[player]) > 0 {
		role = int(c.roles[player][0])
	}
	return c.rating(&scope{column: column, byRole: byRole}, player, role)
}

// span returns the least and the greatest number of a party along the pivot, in the roles that its players wish first;
// low > high if all are left out.
func (p *pivot) span(c *candidate) (low, high float64) {
	if p.byRole == nil {
		return c.span(p.column, p.fold)
	}
	var wished []float64
	for player := range c.size {
		if x := c.wishedRating(p.column, p.byRole, player); x == x {
			wished = append(wished, x)
		}
	}
	return extremes(foldParty(wished, 0, p.fold))
}

// bounds returns numbers that a ticket reaches in any case: its least number is at most low, and its greatest is at
// least high. Without ratings by role they are its least and greatest number. low > high says little or, with
// infinities, that all its players are left out.
func (n *near) bounds(c *candidate) (low, high float64) {
	if n.scope.byRole == nil {
		return c.span(n.scope.column, n.scope.fold)
	}
	var least, greatest []float64
	for player := range c.size {
		from, to := n.ratings(c, player)
		if !(from <= to) { // the player may be left out, which changes what a party counts with
			return math.Inf(1), math.Inf(-1)
		}
		least, greatest = append(least, from), append(greatest, to)
	}
	low, _ = extremes(foldParty(greatest, 0, n.scope.fold))
	_, high = extremes(foldParty(least, 0, n.scope.fold))
	return low, high
}

// ratings returns the least and the greatest number with which a player may count; NaN if it may be left out.
func (n *near) ratings(c *candidate, player int) (least, greatest float64) {
	if c.seated {
		x := c.rating(&n.scope, player, c.seats[player].role)
		return x, x
	}
	least, greatest = math.Inf(1), math.Inf(-1)
	if n.mayHaveNoRole {
		least = c.rating(&n.scope, player, noRole)
		greatest = least
	}
	for _, role := range c.roles[player] {
		x := c.rating(&n.scope, player, int(role))
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
	l, tried := &s.final, 0
	for improved := true; improved; {
		improved = false
		for p := range l.role {
			for q := p + 1; q < l.players; q++ {
				if !s.casting.mayExchange(p, q) {
					continue
				}
				if tried++; tried > maxRoleExchanges {
					return v
				}
				s.nodes--
				l.role[p], l.role[q] = l.role[q], l.role[p]
				next := s.violationOf(0)
				if next == 0 {
					return 0
				}
				if next < v {
					v, improved = next, true
				} else {
					l.role[p], l.role[q] = l.role[q], l.role[p]
				}
			}
		}
	}
	return v
}

// mayExchange reports whether two players of a team would take each other's role.
func (k *casting) mayExchange(p, q int) bool {
	a, b := k.line.role[p], k.line.role[q]
	return a != b && k.line.team[p] == k.line.team[q] && k.wouldTake(p, b) && k.wouldTake(q, a)
}

// wouldTake reports whether a player would take a role, or none. Players who have their seats already would not.
func (k *casting) wouldTake(player, role int) bool {
	would := k.roles[player]
	return len(would) > 0 && (role == noRole || slices.Contains(would, uint8(role)))
}
