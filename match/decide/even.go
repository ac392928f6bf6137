package decide

import (
	"math"

	"github.com/lattice-director/director/match/profile"
)

// The bounds of making teams even: how often it begins with other teams, and how often it judges the rules.
const (
	evenTries  = 6
	evenJudges = 64
	evenUnits  = 24 // of larger matches, parties are exchanged for parties of the same size only
)

// evenTeams exchanges players between the teams of a match, as long as that makes the teams' values more equal and
// every rule holds. It begins several times, with teams that are mixed at random, because exchanges of two alone end at
// teams that others would better.
func (s *search) evenTeams() {
	if s.plan.evenBy.numberColumn < 0 || len(s.plan.teams) < 2 { // no number, or no other team, to compare with
		return
	}
	e := &s.evening
	s.cutUnits(s.plan.maySplit)
	s.weighUnits()
	e.judgesLeft = evenJudges
	e.bestSeating.keepSeats(&s.finalLine)
	least := s.unevenValue()
	for try := 0; try < evenTries && least > 0 && e.judgesLeft > 0; try++ {
		if try > 0 {
			s.mixTeams()
		}
		// The first try begins with teams that hold, and keeps them so at each exchange. Mixed teams need not hold on
		// the way: only where they end is judged, since judging costs more than an exchange.
		if value := s.descendEven(try == 0); value < least && s.castAndJudge() == 0 {
			least = value
			e.bestSeating.keepSeats(&s.finalLine)
		}
	}
	copy(s.finalLine.teamByPlayer, e.bestSeating.teamByPlayer)
	copy(s.finalLine.roleByPlayer, e.bestSeating.roleByPlayer)
	s.judgeRules(true) // sets the verdicts of these teams
}

// weighUnits computes what each unit adds to its team, with the roles that its players have.
func (s *search) weighUnits() {
	e := &s.evening
	e.unitWeights, e.unitTeams, e.absoluteSum = e.unitWeights[:0], e.unitTeams[:0], 0
	e.teamWeights = append(e.teamWeights[:0], make([]weight, len(s.plan.teams))...)
	for i := range s.placing.units {
		u := &s.placing.units[i]
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

// unevenValue is by how much the teams' values differ.
func (s *search) unevenValue() float64 {
	e := &s.evening
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

// descendEven makes the exchanges of two units, or of a party for two units, that bring the teams nearer, until there
// is none, and returns how far they are apart. With judged, every rule holds after each exchange.
func (s *search) descendEven(judged bool) float64 {
	e := &s.evening
	least, holds := s.evenerThan(math.Inf(1), false)
	if !holds { // with ratings by role, mixed teams may give roles with which a rule does not hold
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
				if value, better := s.evenerThan(least, judged); better {
					least, improved = value, true
					continue
				}
				s.exchangeUnits(i, j)
				s.unevenValue() // of the teams as they were
			}
			improved = s.descendForTwo(i, &least, judged) || improved
		}
	}
	return least
}

// descendForTwo exchanges a party for two units of another team that have as many players, as descendEven does for one.
func (s *search) descendForTwo(i int, least *float64, judged bool) (improved bool) {
	n := len(s.evening.unitTeams)
	// Each party is tried with every pair of the others: of more units that would be the cube of their number.
	if s.placing.units[i].playerCount < 2 || n > evenUnits {
		return false
	}
	for j := range n {
		for k := j + 1; k < n; k++ {
			if !s.mayExchangeForTwo(i, j, k) || !s.mayBeEvener(*least, i, j, k) {
				continue
			}
			s.exchangeForTwo(i, j, k)
			if value, better := s.evenerThan(*least, judged); better {
				*least, improved = value, true
				continue
			}
			s.exchangeForTwo(i, j, k)
			s.unevenValue() // of the teams as they were
		}
	}
	return improved
}

// mayBeEvener reports whether the teams may be more even after a unit is exchanged for others of one team, before
// anything is moved: most exchanges are none, and adding up the numbers of all units for each is most of the cost.
func (s *search) mayBeEvener(least float64, unit int, others ...int) bool {
	e, even := &s.evening, &s.plan.evenBy
	if even.byRole != nil || even.teamFold == profile.FoldMin || even.teamFold == profile.FoldMax {
		return true // it takes more than a difference to know
	}
	left := e.unitWeights[unit]
	for _, other := range others {
		left.sum -= e.unitWeights[other].sum
		left.n -= e.unitWeights[other].n
	}
	low, high := math.Inf(1), math.Inf(-1)
	for team, t := range e.teamWeights {
		switch team {
		case e.unitTeams[unit]:
			t.sum, t.n = t.sum-left.sum, t.n-left.n
		case e.unitTeams[others[0]]:
			t.sum, t.n = t.sum+left.sum, t.n+left.n
		}
		if t.n > 0 {
			x := t.foldedValue(even.teamFold)
			low, high = min(low, x), max(high, x)
		}
	}
	// Sums that are taken in the order of ids, which decide, are rounded otherwise.
	return !(high-low >= least+float64(roundingShare*e.absoluteSum))
}

// roundingShare bounds the rounding of a sum of some hundred numbers, as a part of the sum without their signs.
const roundingShare = 1e-12

// evenerThan reports whether the teams are more even than before and, with judged, whether every rule holds.
func (s *search) evenerThan(least float64, judged bool) (value float64, better bool) {
	if s.plan.evenBy.byRole != nil { // the numbers depend on the roles, which depend on the teams
		if !s.holdsEven() {
			return 0, false
		}
		s.weighUnits()
		value = s.unevenValue()
		return value, value < least
	}
	value = s.unevenValue()
	return value, value < least && (!judged || s.holdsEven())
}

// holdsEven reports whether every rule holds, and false when it has judged often enough.
func (s *search) holdsEven() bool {
	s.evening.judgesLeft--
	return s.evening.judgesLeft >= 0 && s.castAndJudge() == 0
}

func (s *search) mayExchange(i, j int) bool {
	return s.evening.unitTeams[i] != s.evening.unitTeams[j] &&
		s.placing.units[i].playerCount == s.placing.units[j].playerCount
}

func (s *search) exchangeUnits(i, j int) {
	a, b := s.evening.unitTeams[i], s.evening.unitTeams[j]
	s.moveUnit(i, b)
	s.moveUnit(j, a)
}

func (s *search) mayExchangeForTwo(i, j, k int) bool {
	team, units := s.evening.unitTeams, s.placing.units
	return team[j] == team[k] && team[i] != team[j] && units[i].playerCount == units[j].playerCount+units[k].playerCount
}

// exchangeForTwo puts a unit into the team of two others, and those into its team. Done twice, it changes nothing.
func (s *search) exchangeForTwo(i, j, k int) {
	a := s.evening.unitTeams[i]
	s.moveUnit(i, s.evening.unitTeams[j])
	s.moveUnit(j, a)
	s.moveUnit(k, a)
}

func (s *search) moveUnit(unit, team int) {
	s.evening.unitTeams[unit] = team
	s.putUnit(&s.placing.units[unit], team)
}

// mixTeams exchanges units of equal size at random.
func (s *search) mixTeams() {
	for i := range s.evening.unitTeams {
		if j := s.randomLot.drawBelow(len(s.evening.unitTeams)); s.mayExchange(i, j) {
			s.exchangeUnits(i, j)
		}
	}
}
