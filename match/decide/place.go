package decide

import (
	"cmp"
	"slices"
)

// The least and the greatest number of steps of one distribution, beside one for each unit.
const (
	minPlacing = 32
	maxPlacing = 256
)

// placeTeams looks for teams and roles with which every rule holds, the largest parties first.
func (s *search) placeTeams(least *leastStep) bool {
	s.finalLine.copyByID(&s.line)
	if !s.holdsWithoutTeams() {
		return false
	}
	// Friends stay together wherever that is possible, also in a profile that may split them.
	if s.distributeUnits(least, false) {
		return true
	}
	return s.plan.maySplit && s.distributeUnits(least, true)
}

// distributeUnits looks for teams in which every rule holds, of whole parties or, with split, of single players.
func (s *search) distributeUnits(least *leastStep, split bool) bool {
	p := &s.placement
	s.beginPlacing(least, split)
	// A line-up that is complete is judged even if the search has hardly a step left: there are steps to seat each unit
	// once, and some to seat units otherwise.
	p.stepsLeft = len(p.units) + min(maxPlacing, max(s.stepsLeft, minPlacing))
	spent := p.stepsLeft
	found := s.placeUnit(0)
	s.stepsLeft -= spent - p.stepsLeft
	return found
}

// beginPlacing cuts the line-up into units that are in no team.
func (s *search) beginPlacing(least *leastStep, split bool) {
	p := &s.placement
	p.leastSizes, p.hasExchanged = least, false
	s.cutUnits(split)
	p.teamSizes = append(p.teamSizes[:0], make([]int, len(s.plan.teams))...)
	p.teamStrengths = append(p.teamStrengths[:0], make([]float64, len(s.plan.teams))...)
	p.orderScratch = append(p.orderScratch[:0], make([]int, len(p.units)*len(s.plan.teams))...)
	s.roleCaster.resetRoles(&s.finalLine)
}

// placeUnit puts unit i and all after it into teams, and reports whether every rule then holds.
func (s *search) placeUnit(i int) bool {
	p := &s.placement
	if i == len(p.units) {
		return s.hasValidSizes() && s.settleTeams()
	}
	u := &p.units[i]
	for _, team := range s.teamOrder(i, u) {
		if p.stepsLeft <= 0 {
			s.ranOutOfSteps = true
			return false
		}
		p.stepsLeft--
		s.seatUnit(u, team)
		if s.isCastable(team) && s.teamsMayHold() && s.placeUnit(i+1) {
			return true
		}
		p.teamSizes[team] -= u.playerCount
		p.teamStrengths[team] -= u.strength
		s.putUnit(u, noTeam)
	}
	return false
}

// seatUnit puts a unit into a team, and counts it there.
func (s *search) seatUnit(u *unit, team int) {
	s.putUnit(u, team)
	s.placement.teamSizes[team] += u.playerCount
	s.placement.teamStrengths[team] += u.strength
}

// isCastable reports whether the places that are left in a team are enough for the roles that nobody of it fills.
func (s *search) isCastable(team int) bool {
	t := &s.plan.teams[team]
	return len(t.roleNeeds) == 0 || s.roleCaster.recastTeam(team, t.roleNeeds) <= t.spec.Max-s.placement.teamSizes[team]
}

// teamOrder returns the teams with a place for a unit: first the one that lacks most of its least size, then the
// emptiest, then the weakest. Of teams that are empty and interchangeable it returns one.
func (s *search) teamOrder(i int, u *unit) []int {
	p := &s.placement
	n := len(s.plan.teams)
	order := p.orderScratch[i*n : i*n]
	for team := range n {
		if p.teamSizes[team]+u.playerCount <= s.plan.teams[team].spec.Max && !s.repeatsClass(order, team) {
			order = append(order, team)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(max(0, p.leastSizes.teamSizes[b]-p.teamSizes[b]),
			max(0, p.leastSizes.teamSizes[a]-p.teamSizes[a])),
			cmp.Compare(p.teamSizes[a], p.teamSizes[b]), cmp.Compare(p.teamStrengths[a], p.teamStrengths[b]))
	})
	return order
}

// repeatsClass reports whether an empty team is interchangeable with an empty one in order: trying both would try the
// same twice.
func (s *search) repeatsClass(order []int, team int) bool {
	p := &s.placement
	return p.teamSizes[team] == 0 && slices.ContainsFunc(order, func(o int) bool {
		return p.teamSizes[o] == 0 && s.plan.teams[o].classIndex == s.plan.teams[team].classIndex
	})
}

// hasValidSizes reports whether every team has a size that the profile allows.
func (s *search) hasValidSizes() bool {
	for team, size := range s.placement.teamSizes {
		if !s.plan.teams[team].allowsSize(size, s.placement.leastSizes.teamSizes[team]) {
			return false
		}
	}
	return true
}
