package decide

import (
	"math"

	"github.com/lattice-director/director/match/profile"
)

// The bounds of making teams even: how often it begins with other teams, and how often it judges the rules.
const (
	evenTries  = 6
	evenJudges = 64
	// evenUnits bounds the units of a match in which a party may be exchanged for two units: see descendForTwo.
	evenUnits = 24
)

// evenTeams exchanges players between the teams of a match, as long as that makes the teams' values more equal and
// every rule holds. It begins several times, with teams that are mixed at random, because exchanges of two units end at
// teams that exchanges of more units would make more equal.
func (s *search) evenTeams() {
	// There is no number, or no other team, to compare with.
	if s.plan.evenBy.numberColumn == noColumn || len(s.plan.teams) < 2 {
		return
	}
	e := &s.evenSplit
	s.cutUnits(s.plan.maySplit)
	s.weighUnits()
	e.judgesLeft = evenJudges
	e.bestSeating.keepSeats(&s.finalLine)
	least := s.weighTeams()
	for try := 0; try < evenTries && least > 0 && e.judgesLeft > 0; try++ {
		if try > 0 {
			s.mixTeams()
		}
		// The first try begins with teams with which every rule holds, and keeps that at each exchange. Mixed teams are
		// judged only where the exchanges end, since judging costs more than an exchange.
		if value := s.descendEven(try == 0); value < least && s.castAndJudge() == 0 {
			least = value
			e.bestSeating.keepSeats(&s.finalLine)
		}
	}
	copy(s.finalLine.teamByPlayer, e.bestSeating.teamByPlayer)
	copy(s.finalLine.roleByPlayer, e.bestSeating.roleByPlayer)
	s.judgeTeamRules() // for the verdicts, which were of other teams
}

// weighUnits computes what each unit adds to its team, with the roles that its players have.
func (s *search) weighUnits() {
	e := &s.evenSplit
	e.unitWeights, e.unitTeams, e.absoluteSum = e.unitWeights[:0], e.unitTeams[:0], 0
	e.teamWeights = append(e.teamWeights[:0], make([]weight, len(s.plan.teams))...)
	for i := range s.placement.units {
		u := &s.placement.units[i]
		kept := foldParty(s.numbersOf(u, s.finalLine.scratchValues[:0]), 0, s.plan.evenBy.partyFold)
		s.finalLine.scratchValues = kept
		low, high := extremesOf(kept)
		w := weight{sumValues(kept), low, high, len(kept)}
		e.unitWeights = append(e.unitWeights, w)
		e.absoluteSum += math.Abs(w.sum)
		e.unitTeams = append(e.unitTeams, s.teamOf(u))
	}
}

// numbersOf appends the numbers of a unit's players.
func (s *search) numbersOf(u *unit, to []float64) []float64 {
	c, first := s.finalLine.picks[u.pickIndex], s.finalLine.firstPlayer[u.pickIndex]
	even := &s.plan.evenBy
	for p, x := range c.numbersOf(even.numberColumn) {
		if even.byRole != nil {
			x = c.ratingIn(&scope{column: even.numberColumn, byRole: even.byRole}, p, s.finalLine.roleByPlayer[first+p])
		}
		if (u.playerIndex == wholeParty || u.playerIndex == p) && !math.IsNaN(x) {
			to = append(to, x)
		}
	}
	return to
}

// weighTeams computes teamWeights of the units' teams, and returns by how much the teams' values differ.
func (s *search) weighTeams() (uneven float64) {
	e := &s.evenSplit
	for team := range e.teamWeights {
		e.teamWeights[team] = weight{low: math.Inf(1), high: math.Inf(-1)}
	}
	for i, team := range e.unitTeams {
		w, t := &e.unitWeights[i], &e.teamWeights[team]
		t.sum += w.sum
		t.low, t.high = min(t.low, w.low), max(t.high, w.high)
		t.n += w.n
	}
	low, high := math.Inf(1), math.Inf(-1)
	for team := range e.teamWeights {
		if e.teamWeights[team].n > 0 {
			x := e.teamWeights[team].foldedValue(s.plan.evenBy.teamFold)
			low, high = min(low, x), max(high, x)
		}
	}
	if low > high {
		return 0
	}
	return high - low
}

// descendEven makes the exchanges of two units, or of a party for two units, that make the teams' values more equal,
// until there is none, and returns by how much they still differ. With mustHold, every rule holds after each exchange.
func (s *search) descendEven(mustHold bool) float64 {
	e := &s.evenSplit
	const mayFail = false
	least, isValid := s.evenerThan(math.Inf(1), mayFail)
	// With ratings by role, mixed teams may give roles with which a rule does not hold.
	if !isValid {
		return math.Inf(1)
	}
	for improved := true; improved; {
		improved = false
		for i := range e.unitTeams {
			for j := i + 1; j < len(e.unitTeams); j++ {
				if !s.mayExchange(i, j) || !s.mayBeEvener(least, i, j) {
					continue
				}
				s.exchangeUnits(i, j)
				if value, isEvener := s.evenerThan(least, mustHold); isEvener {
					least, improved = value, true
					continue
				}
				s.exchangeUnits(i, j)
				s.weighTeams() // as they were
			}
			improved = s.descendForTwo(i, &least, mustHold) || improved
		}
	}
	return least
}

// descendForTwo exchanges a party for two units of another team that have as many players together, as descendEven
// exchanges a unit for one.
func (s *search) descendForTwo(i int, least *float64, mustHold bool) (improved bool) {
	n := len(s.evenSplit.unitTeams)
	// Each party is tried with every pair of the others: with more units, the cube of their number would be too many.
	if s.placement.units[i].playerCount < 2 || n > evenUnits {
		return false
	}
	for j := range n {
		for k := j + 1; k < n; k++ {
			if !s.mayExchangeForTwo(i, j, k) || !s.mayBeEvener(*least, i, j, k) {
				continue
			}
			s.exchangeForTwo(i, j, k)
			if value, isEvener := s.evenerThan(*least, mustHold); isEvener {
				*least, improved = value, true
				continue
			}
			s.exchangeForTwo(i, j, k)
			s.weighTeams() // as they were
		}
	}
	return improved
}

// mayBeEvener reports whether the teams may be more even after a unit is exchanged for others of one team, from the sums
// of the teams. It spares weighTeams, which adds up the numbers of all units, for most exchanges.
func (s *search) mayBeEvener(least float64, unit int, others ...int) bool {
	e, even := &s.evenSplit, &s.plan.evenBy
	// These values do not follow from sums.
	if even.byRole != nil || even.teamFold == profile.FoldMin || even.teamFold == profile.FoldMax {
		return true
	}
	moved := e.unitWeights[unit] // what the unit's team loses and the other gains
	for _, other := range others {
		moved.sum -= e.unitWeights[other].sum
		moved.n -= e.unitWeights[other].n
	}
	low, high := math.Inf(1), math.Inf(-1)
	for team, t := range e.teamWeights {
		switch team {
		case e.unitTeams[unit]:
			t.sum, t.n = t.sum-moved.sum, t.n-moved.n
		case e.unitTeams[others[0]]:
			t.sum, t.n = t.sum+moved.sum, t.n+moved.n
		}
		if t.n > 0 {
			x := t.foldedValue(even.teamFold)
			low, high = min(low, x), max(high, x)
		}
	}
	// The sums of weighTeams, which decide, are taken in another order and so rounded otherwise.
	return !(high-low >= least+float64(roundingShare*e.absoluteSum))
}

// roundingShare bounds the rounding of a sum of some hundred numbers, as a part of the sum without their signs.
const roundingShare = 1e-12

// evenerThan weighs the teams, and reports whether their values differ by less than least and, with mustHold, every rule
// holds. With ratings by role every rule must hold anyway.
func (s *search) evenerThan(least float64, mustHold bool) (value float64, isEvener bool) {
	// The numbers depend on the roles, which judging gives.
	if s.plan.evenBy.byRole != nil {
		if !s.holdsEven() {
			return 0, false
		}
		s.weighUnits()
		value = s.weighTeams()
		return value, value < least
	}
	value = s.weighTeams()
	return value, value < least && (!mustHold || s.holdsEven())
}

// holdsEven casts the roles and reports whether every rule holds. It returns false once judgesLeft is used up.
func (s *search) holdsEven() bool {
	s.evenSplit.judgesLeft--
	return s.evenSplit.judgesLeft >= 0 && s.castAndJudge() == 0
}

// mayExchange reports whether two units have the same size and are in different teams.
func (s *search) mayExchange(i, j int) bool {
	return s.evenSplit.unitTeams[i] != s.evenSplit.unitTeams[j] &&
		s.placement.units[i].playerCount == s.placement.units[j].playerCount
}

func (s *search) exchangeUnits(i, j int) {
	a, b := s.evenSplit.unitTeams[i], s.evenSplit.unitTeams[j]
	s.moveUnit(i, b)
	s.moveUnit(j, a)
}

func (s *search) mayExchangeForTwo(i, j, k int) bool {
	team, units := s.evenSplit.unitTeams, s.placement.units
	return team[j] == team[k] && team[i] != team[j] && units[i].playerCount == units[j].playerCount+units[k].playerCount
}

// exchangeForTwo puts unit i into the team of units j and k, and these into its team. Done twice, it changes nothing.
func (s *search) exchangeForTwo(i, j, k int) {
	a := s.evenSplit.unitTeams[i]
	s.moveUnit(i, s.evenSplit.unitTeams[j])
	s.moveUnit(j, a)
	s.moveUnit(k, a)
}

// moveUnit puts a unit into a team, here and in the line-up.
func (s *search) moveUnit(unit, team int) {
	s.evenSplit.unitTeams[unit] = team
	s.putUnit(&s.placement.units[unit], team)
}

// mixTeams exchanges units of equal size at random.
func (s *search) mixTeams() {
	for i := range s.evenSplit.unitTeams {
		if j := s.randomLot.drawBelow(len(s.evenSplit.unitTeams)); s.mayExchange(i, j) {
			s.exchangeUnits(i, j)
		}
	}
}
