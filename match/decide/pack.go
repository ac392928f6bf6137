package decide

import "slices"

// packs reports whether the parties of the line-up and c fit into the teams without being split. Players who came alone fit
// wherever there is room.
func (s *search) packs(l *lineup, c *candidate) bool {
	if s.plan.split {
		return true
	}
	parties := s.parties(l, c)
	if len(parties) < 2 {
		return len(parties) == 0 || parties[0] <= s.plan.largestParty()
	}
	slices.SortFunc(parties, func(a, b int) int { return b - a })
	room := make([]int, len(s.plan.teams))
	for i := range room {
		room[i] = s.plan.teams[i].spec.Max
	}
	steps := 256
	return packInto(room, parties, &steps)
}

// parties returns the sizes of those that are more than one player.
func (s *search) parties(l *lineup, c *candidate) []int {
	parties := s.placing.parties[:0]
	if c.size > 1 {
		parties = append(parties, c.size)
	}
	for _, pick := range l.picks {
		if pick.size > 1 {
			parties = append(parties, pick.size)
		}
	}
	s.placing.parties = parties
	return parties
}

// packInto looks for a place for each party, the largest first. It returns true when the steps are used up, because what
// follows decides exactly.
func packInto(room, parties []int, steps *int) bool {
	if len(parties) == 0 {
		return true
	}
	for i, free := range room {
		if free < parties[0] || slices.Contains(room[:i], free) {
			continue
		}
		if *steps--; *steps < 0 {
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
