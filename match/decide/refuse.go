package decide

import "slices"

// refusalBesideSeed returns why c cannot be in a match with the seed or, while seedOnly is empty, be the seed; "" if it
// can. That includes rules on teams that its party breaks by itself, in whichever team it is.
func (s *search) refusalBesideSeed(c *candidate) string {
	l := &s.seedOnly
	because := s.refusalOf(l, c)
	if because != "" || c.playerCount == 1 || s.plan.maySplit {
		return because
	}
	// In the first team, which stands for all: rules that are firm look at each team in the same way.
	l.pushPick(c)
	l.setTeam(len(l.picks)-1, 0)
	for _, r := range s.plan.rules {
		if r.isFirm && r.verdictFor(l).excess > 0 {
			because = r.id
			break
		}
	}
	l.popPick()
	return because
}

// The reasons of refusal that are no rule's id.
const (
	becauseSize        = "size"
	becausePlayer      = "player"
	becauseMode        = "mode"
	becauseRoles       = "roles"
	becauseCombination = "combination"
)

// refusalOf returns why c cannot be in a match with the line-up, as far as it shows without teams; "" if it can.
func (s *search) refusalOf(l *lineup, c *candidate) string {
	if l.playerCount+c.playerCount > s.plan.maxPlayers {
		return becauseSize
	}
	for _, r := range s.plan.rules {
		if !r.mayAdmit(l, c) {
			return r.id
		}
	}
	switch {
	case s.plan.allModes != 0 && l.commonModes()&c.allowedModes == 0:
		return becauseMode
	case l.hasPlayerOf(c):
		return becausePlayer
	case !s.canPack(l, c):
		return becauseSize
	}
	return ""
}

// canPack reports whether the parties of the line-up and c fit into the teams without being split. Players who came
// alone fit wherever there is room.
func (s *search) canPack(l *lineup, c *candidate) bool {
	if s.plan.maySplit {
		return true
	}
	parties := s.partySizes(l, c)
	// A single party only needs a team that is large enough: no distribution has to be tried.
	if len(parties) < 2 {
		return len(parties) == 0 || parties[0] <= s.plan.largestParty()
	}
	slices.SortFunc(parties, func(a, b int) int { return b - a })
	room := make([]int, len(s.plan.teams))
	for i := range room {
		room[i] = s.plan.teams[i].spec.Max
	}
	steps := maxPacking
	return packInto(room, parties, &steps)
}

// maxPacking bounds the places that packInto tries.
const maxPacking = 256

// partySizes returns the sizes of c and of the picks, without those of one player.
func (s *search) partySizes(l *lineup, c *candidate) []int {
	parties := s.placement.partyScratch[:0]
	if c.playerCount > 1 {
		parties = append(parties, c.playerCount)
	}
	for _, pick := range l.picks {
		if pick.playerCount > 1 {
			parties = append(parties, pick.playerCount)
		}
	}
	s.placement.partyScratch = parties
	return parties
}

// packInto looks for a place for each party, the largest first. It returns true when the steps are used up, because
// placeTeams then decides exactly.
func packInto(room, parties []int, steps *int) bool {
	if len(parties) == 0 {
		return true
	}
	for i, free := range room {
		// A team with as much room as one before it leads to the same distributions.
		if free < parties[0] || slices.Contains(room[:i], free) {
			continue
		}
		*steps--
		if *steps < 0 {
			return true
		}
		room[i] -= parties[0]
		if packInto(room, parties[1:], steps) {
			return true
		}
		room[i] += parties[0]
	}
	return false
}
