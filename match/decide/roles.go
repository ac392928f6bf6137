package decide

import "slices"

// roleCaster gives roles to players by bipartite matching: players on one side, the places of roles on the other. It looks
// for augmenting paths, from a place that is still empty over players who change to another place.
type roleCaster struct {
	line        *lineup
	wantedRoles [][]uint8 // by player: the roles that it would take; nil: it has its seat already
	visited     []bool    // by player: augmentRole has tried it
}

// roleNeed is how many players of a team have a role.
type roleNeed struct{ roleIndex, minPlayers, maxPlayers int }

// resetRoles takes all roles from the players, except from those who have their seats already.
func (k *roleCaster) resetRoles(l *lineup) {
	k.line = l
	k.wantedRoles = k.wantedRoles[:0]
	for pick, c := range l.picks {
		for i := range c.playerCount {
			p := l.firstPlayer[pick] + i
			switch {
			// A player of an open match keeps the role that its game server knows.
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

// castRoles fills the least number of each role's places with players of the team, or with anyTeam of the match, and
// returns how many places stay empty.
func (k *roleCaster) castRoles(team int, needs []roleNeed) (empty int) {
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
func (k *roleCaster) recastTeam(team int, needs []roleNeed) (empty int) {
	for p, t := range k.line.teamByPlayer {
		if t == team {
			k.line.roleByPlayer[p] = noRole
		}
	}
	return k.castRoles(team, needs)
}

// augmentRole finds a player for one more place of a role: one without a role, or one whose own place another player
// takes. Players that prefer the role come first.
func (k *roleCaster) augmentRole(team, role int) bool {
	// By rank, so that everybody's first role comes before anybody's second.
	deepest := 0
	for rank := 0; rank <= deepest; rank++ {
		for p, wanted := range k.wantedRoles {
			if team != anyTeam && k.line.teamByPlayer[p] != team {
				continue
			}
			deepest = max(deepest, len(wanted)-1)
			if rank >= len(wanted) || int(wanted[rank]) != role || k.visited[p] {
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
func (k *roleCaster) castMore(team int, needs []roleNeed) {
	for p, wanted := range k.wantedRoles {
		if k.line.teamByPlayer[p] != team || k.line.roleByPlayer[p] != noRole {
			continue
		}
		for _, role := range wanted {
			i := slices.IndexFunc(needs, func(n roleNeed) bool { return n.roleIndex == int(role) })
			if i >= 0 && k.countHolders(team, needs[i].roleIndex) < needs[i].maxPlayers {
				k.line.roleByPlayer[p] = needs[i].roleIndex
				break
			}
		}
	}
}

// countHolders counts the players in a role: those of a team, or all (anyTeam).
func (k *roleCaster) countHolders(team, role int) int {
	n := 0
	for p, r := range k.line.roleByPlayer {
		if r == role && (team == anyTeam || k.line.teamByPlayer[p] == team) {
			n++
		}
	}
	return n
}

// mayExchange reports whether two players of a team would take each other's role.
func (k *roleCaster) mayExchange(p, q int) bool {
	a, b := k.line.roleByPlayer[p], k.line.roleByPlayer[q]
	return a != b && k.line.teamByPlayer[p] == k.line.teamByPlayer[q] && k.wouldTake(p, b) && k.wouldTake(q, a)
}

// wouldTake reports whether a player would take a role, or have none. Players who have their seats already would not.
func (k *roleCaster) wouldTake(player, role int) bool {
	wanted := k.wantedRoles[player]
	return len(wanted) > 0 && (role == noRole || slices.Contains(wanted, uint8(role)))
}
