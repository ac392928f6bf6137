package decide

import "slices"

// casting gives roles to players by bipartite matching: players on one side, the places of roles on the other. It looks for
// augmenting paths, from a place that is still empty over players who change to another place.
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

// cast fills the least number of each role's places with players of the team, or of the match with anyTeam, and returns how
// many places stay empty.
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
