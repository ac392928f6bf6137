package decide

import "slices"

// settleTeams gives roles to the players of full teams and exchanges units of equal size between teams until every rule
// holds. If that fails, the players are back in the teams that they had, and further distributions are judged as they
// are: exchanges would lead to the same ones again.
func (s *search) settleTeams() bool {
	p := &s.placement
	if s.castAndJudge() == 0 {
		return true
	}
	if p.hasExchanged {
		return false
	}
	p.hasExchanged = true
	p.teamsBefore = append(p.teamsBefore[:0], s.finalLine.teamByPlayer...)
	if s.swapWhileBetter() {
		return true
	}
	copy(s.finalLine.teamByPlayer, p.teamsBefore)
	return false
}

// swapWhileBetter swaps two units as long as that brings the line-up nearer to holding.
func (s *search) swapWhileBetter() bool {
	p := &s.placement
	current := s.castAndJudge()
	for improved := true; improved; {
		improved = false
		for i := range p.units {
			for j := i + 1; j < len(p.units); j++ {
				a, b := &p.units[i], &p.units[j]
				// Of equal size only, since the teams have the sizes that they need.
				if a.playerCount != b.playerCount || s.teamOf(a) == s.teamOf(b) {
					continue
				}
				if p.stepsLeft <= 0 {
					s.ranOutOfSteps = true
					return false
				}
				p.stepsLeft--
				s.swapUnits(a, b)
				if v := s.castAndJudge(); v < current {
					// Kept; otherwise the exchange is taken back.
					current, improved = v, true
				} else {
					s.swapUnits(a, b)
				}
				if current == 0 {
					return true
				}
			}
		}
	}
	return false
}

// drawSides exchanges interchangeable teams by lot, so that a seed is not always on the same side.
func (s *search) drawSides(random *lot) {
	sides := make([]int, len(s.plan.teams))
	for i := range sides {
		sides[i] = i
	}
	for i := range sides {
		// Each team changes places with itself or one behind it, as in a shuffle, but only within its class.
		var alike []int
		for j := i; j < len(sides); j++ {
			if s.plan.teams[j].classIndex == s.plan.teams[i].classIndex {
				alike = append(alike, j)
			}
		}
		j := alike[random.drawBelow(len(alike))]
		sides[i], sides[j] = sides[j], sides[i]
	}
	for player, team := range s.finalLine.teamByPlayer {
		s.finalLine.teamByPlayer[player] = slices.Index(sides, team)
	}
}
