package decide

import "slices"

// settleTeams gives roles to the players of full teams and exchanges units of equal size between teams until every rule
// holds. If that fails, the players are back in the teams that they had, and further distributions are judged as they
// are: exchanges would lead to the same ones again.
func (s *search) settleTeams() bool {
	p := &s.placing
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
	p := &s.placing
	current := s.castAndJudge()
	for improved := true; improved; {
		improved = false
		for i := range p.units {
			for j := i + 1; j < len(p.units); j++ {
				a, b := &p.units[i], &p.units[j]
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

func (s *search) swapUnits(a, b *unit) {
	x, y := s.teamOf(a), s.teamOf(b)
	s.putUnit(a, y)
	s.putUnit(b, x)
}

// castAndJudge casts the roles and judges the rules that look at teams or roles: 0 if all hold, else how far they are from
// it.
func (s *search) castAndJudge() float64 {
	v := s.violationWith(true)
	if v == 0 || !s.plan.mayLeaveRoles {
		return v
	}
	if less := s.violationWith(false); less < v {
		return less
	}
	return s.violationWith(true)
}

// violationWith casts the least number of every role's places, or more of them.
func (s *search) violationWith(more bool) float64 {
	empty := s.castAll(more)
	v := s.violationOf(empty)
	if v > 0 && empty == 0 && s.plan.ratesRoles {
		return s.exchangeRoles(v)
	}
	return v
}

// violationOf judges the rules that look at teams or roles, of which so many places are empty.
func (s *search) violationOf(empty int) float64 {
	over, regions := s.judgeRules(true)
	total := float64(empty) + over
	if regions&s.placing.holdingRegions == 0 && s.finalLine.allowedRegions != 0 && total == 0 {
		return 1
	}
	return total
}

// castAll gives roles in every team and returns how many places stay empty.
func (s *search) castAll(more bool) int {
	if len(s.plan.roleNames) == 0 {
		return 0
	}
	s.casting.resetRoles(&s.finalLine)
	empty := 0
	for team := range s.plan.teams {
		needs := s.plan.teams[team].roleNeeds
		empty += s.casting.castRoles(team, needs)
		if more {
			s.casting.castMore(team, needs)
		}
	}
	return empty
}

// drawSides deals interchangeable teams by lot, so that no side is the seed's.
func (s *search) drawSides(random *lot) {
	sides := make([]int, len(s.plan.teams))
	for i := range sides {
		sides[i] = i
	}
	for i := range sides {
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

// lot is a small generator of random numbers (SplitMix64) whose results are part of what replays: unlike those of a
// library they never change.
type lot uint64

func (r *lot) nextNumber() uint64 {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (r *lot) drawBelow(n int) int { return int(r.nextNumber() % uint64(n)) } // n is small: the bias is nothing

// newLot returns the lot of a match, which depends on its anchor and on the engine's seed.
func newLot(seed uint64, anchor string) lot { return lot(seed ^ hashText(anchor)) }

// hashText is FNV-1a: always the same for the same text.
func hashText(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
