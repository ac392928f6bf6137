package decide

import "slices"

// findBest finds the largest set that satisfies the rules that need no teams, and sets findings.Best. It tries the
// nearest candidates first, then the oldest.
func (q *Inquiry) findBest(list []*candidate, nodes int) {
	s, e := &q.engine.search, q.engine
	b := &biggestSearch{search: s, maxPlayers: q.mostWith(list)}
	for _, order := range [][]*candidate{list, byAgeOf(list)} {
		q.startAnyhow(nodes / 2)
		s.choices.setList(order, admitsAnybody)
		if s.countEmptyPlaces() {
			b.growFrom(0)
		}
		if b.bestPlayers == b.maxPlayers {
			break
		}
	}
	q.findings.Complete = q.findings.Complete && (!s.ranOutOfSteps || b.bestPlayers == b.maxPlayers)
	q.findings.Best.Players = b.bestPlayers
	q.findings.Best.Lacks = s.lackedRoles(b.bestPicks, e.nowNanos, e.hostRegions.knownRegions)
}

// biggestSearch searches for the line-up with the most players.
type biggestSearch struct {
	search *search

	maxPlayers  int // no line-up of these candidates has more
	bestPicks   []*candidate
	bestPlayers int
}

// mostWith bounds the players of a match of the candidates: places of roles that none of them would take stay empty.
func (q *Inquiry) mostWith(list []*candidate) int {
	most := q.engine.plan.maxPlayers
	for _, n := range q.engine.search.lackedRoles(append(slices.Clone(list), q.seed), q.engine.nowNanos,
		q.engine.hostRegions.knownRegions) {
		most -= n
	}
	return most
}

// growFrom adds choices from the i-th on to the line-up, as long as it can become bigger than the biggest so far.
func (b *biggestSearch) growFrom(i int) {
	if b.search.line.playerCount > b.bestPlayers {
		b.bestPicks, b.bestPlayers = append(b.bestPicks[:0], b.search.line.picks...), b.search.line.playerCount
	}
	for ; i < len(b.search.choices.list) && b.bestPlayers < b.maxPlayers; i++ {
		// Even with all choices that are left, the line-up would not be bigger than the biggest so far.
		if left, _ := b.search.choices.playersFrom(i); b.search.line.playerCount+left <= b.bestPlayers {
			return
		}
		b.search.stepsLeft--
		if b.search.stepsLeft < 0 {
			b.search.ranOutOfSteps = true
			return
		}
		if b.search.takeCandidate(b.search.choices.list[i]) {
			b.growFrom(i + 1)
			b.search.line.popPick()
		}
	}
}

// lackedRoles returns how many places of each role the tickets leave empty.
func (s *search) lackedRoles(picks []*candidate, now int64, allowed uint64) map[string]int {
	lacks := map[string]int{}
	s.line.resetTo(now, allowed, len(s.plan.teams))
	for _, c := range picks {
		s.line.pushPick(c)
	}
	s.roleCaster.resetRoles(&s.line)
	for role, least := range s.plan.roleNeeds() {
		if n := s.roleCaster.castRoles(anyTeam, []roleNeed{{roleIndex: role, minPlayers: least}}); n > 0 {
			lacks[s.plan.roleNames[role]] = n
		}
	}
	return lacks
}
