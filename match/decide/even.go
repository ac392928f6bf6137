package decide

import (
	"math"

	"github.com/lattice-director/director/match/profile"
)

// evenness is what the teams of a match are made equal by: the first balance rule's numbers, else the pivot's means.
type evenness struct {
	column int   // of numbers; -1: none
	byRole []int // as of a scope
	party  profile.Fold
	teams  profile.Fold
}

// The bounds of making teams even: how often it begins with other teams, and how often it judges the rules.
const (
	evenTries  = 6
	evenJudges = 64
	evenUnits  = 24 // of larger matches, parties are exchanged for parties of the same size only
)

// weight is what a unit adds to the value of its team.
type weight struct {
	sum, low, high float64
	n              int
}

// evening is a match whose teams are made even.
type evening struct {
	weights []weight // by unit
	scale   float64  // the sum of all numbers without their signs
	teams   []weight // by team, as of the last call of unevenValue
	team    []int    // by unit
	best    seating  // the most even teams so far
	judges  int      // that are left
}

// seating is where the players of a line-up are.
type seating struct{ team, role []int }

// keep makes it the seating of a line-up.
func (s *seating) keep(l *lineup) {
	s.team, s.role = append(s.team[:0], l.team...), append(s.role[:0], l.role...)
}

// even exchanges players between the teams of a match, as long as that makes the teams' values more equal and every
// rule holds. It begins several times, with teams that are mixed at random, because exchanges of two alone end at teams
// that others would better.
func (s *search) even() {
	if s.plan.even.column < 0 || len(s.plan.teams) < 2 {
		return
	}
	e := &s.evening
	s.cutUnits(s.plan.split)
	s.weigh()
	e.judges = evenJudges
	e.best.keep(&s.final)
	least := s.unevenValue()
	for try := 0; try < evenTries && least > 0 && e.judges > 0; try++ {
		if try > 0 {
			s.mix()
		}
		// The first try begins with teams that hold, and keeps them so at each exchange. Mixed teams need not hold on
		// the way: only where they end is judged, since judging costs more than an exchange.
		if value := s.descendEven(try == 0); value < least && s.violation() == 0 {
			least = value
			e.best.keep(&s.final)
		}
	}
	copy(s.final.team, e.best.team)
	copy(s.final.role, e.best.role)
	s.judge(true) // sets the verdicts of these teams
}

// weigh computes what each unit adds to its team, with the roles that its players have.
func (s *search) weigh() {
	e := &s.evening
	e.weights, e.team, e.scale = e.weights[:0], e.team[:0], 0
	e.teams = append(e.teams[:0], make([]weight, len(s.plan.teams))...)
	for i := range s.placing.units {
		u := &s.placing.units[i]
		kept := foldParty(s.numbersOf(u, s.final.values[:0]), 0, s.plan.even.party)
		s.final.values = kept
		low, high := extremes(kept)
		w := weight{sum(kept), low, high, len(kept)}
		e.weights = append(e.weights, w)
		e.scale += math.Abs(w.sum)
		e.team = append(e.team, s.teamOf(u))
	}
}

// numbersOf appends the numbers of a unit's players.
func (s *search) numbersOf(u *unit, to []float64) []float64 {
	c, first := s.final.picks[u.pick], s.final.first[u.pick]
	even := &s.plan.even
	for p, x := range c.column(even.column) {
		if even.byRole != nil {
			x = c.rating(&scope{column: even.column, byRole: even.byRole}, p, s.final.role[first+p])
		}
		if (u.player < 0 || u.player == p) && x == x {
			to = append(to, x)
		}
	}
	return to
}

// unevenValue is by how much the teams' values differ.
func (s *search) unevenValue() float64 {
	e := &s.evening
	for team := range e.teams {
		e.teams[team] = weight{low: math.Inf(1), high: math.Inf(-1)}
	}
	for i, team := range e.team {
		w, t := &e.weights[i], &e.teams[team]
		t.sum += w.sum
		t.low, t.high = min(t.low, w.low), max(t.high, w.high)
		t.n += w.n
	}
	low, high := math.Inf(1), math.Inf(-1)
	for team := range e.teams {
		if e.teams[team].n > 0 {
			x := e.teams[team].value(s.plan.even.teams)
			low, high = min(low, x), max(high, x)
		}
	}
	if low > high {
		return 0
	}
	return high - low
}

func (w *weight) value(f profile.Fold) float64 {
	switch f {
	case profile.FoldSum:
		return w.sum
	case profile.FoldMin:
		return w.low
	case profile.FoldMax:
		return w.high
	default:
		return w.sum / float64(w.n)
	}
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
		for i := range e.team {
			for j := i + 1; j < len(e.team); j++ {
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
	n := len(s.evening.team)
	if s.placing.units[i].size < 2 || n > evenUnits {
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
	e, even := &s.evening, &s.plan.even
	if even.byRole != nil || even.teams == profile.FoldMin || even.teams == profile.FoldMax {
		return true // it takes more than a difference to know
	}
	left := e.weights[unit]
	for _, other := range others {
		left.sum -= e.weights[other].sum
		left.n -= e.weights[other].n
	}
	low, high := math.Inf(1), math.Inf(-1)
	for team, t := range e.teams {
		switch team {
		case e.team[unit]:
			t.sum, t.n = t.sum-left.sum, t.n-left.n
		case e.team[others[0]]:
			t.sum, t.n = t.sum+left.sum, t.n+left.n
		}
		if t.n > 0 {
			x := t.value(even.teams)
			low, high = min(low, x), max(high, x)
		}
	}
	// Sums that are taken in the order of ids, which decide, are rounded otherwise.
	return !(high-low >= least+roundingShare*e.scale)
}

// roundingShare bounds the rounding of a sum of some hundred numbers, as a part of the sum without their signs.
const roundingShare = 1e-12

// evenerThan reports whether the teams are more even than before and, with judged, whether every rule holds.
func (s *search) evenerThan(least float64, judged bool) (value float64, better bool) {
	if s.plan.even.byRole != nil { // the numbers depend on the roles, which depend on the teams
		if !s.holdsEven() {
			return 0, false
		}
		s.weigh()
		value = s.unevenValue()
		return value, value < least
	}
	value = s.unevenValue()
	return value, value < least && (!judged || s.holdsEven())
}

// holdsEven reports whether every rule holds, and false when it has judged often enough.
func (s *search) holdsEven() bool {
	s.evening.judges--
	return s.evening.judges >= 0 && s.violation() == 0
}

func (s *search) mayExchange(i, j int) bool {
	return s.evening.team[i] != s.evening.team[j] && s.placing.units[i].size == s.placing.units[j].size
}

func (s *search) exchangeUnits(i, j int) {
	a, b := s.evening.team[i], s.evening.team[j]
	s.move(i, b)
	s.move(j, a)
}

func (s *search) mayExchangeForTwo(i, j, k int) bool {
	team, units := s.evening.team, s.placing.units
	return team[j] == team[k] && team[i] != team[j] && units[i].size == units[j].size+units[k].size
}

// exchangeForTwo puts a unit into the team of two others, and those into its team. Done twice, it changes nothing.
func (s *search) exchangeForTwo(i, j, k int) {
	a := s.evening.team[i]
	s.move(i, s.evening.team[j])
	s.move(j, a)
	s.move(k, a)
}

func (s *search) move(unit, team int) {
	s.evening.team[unit] = team
	s.put(&s.placing.units[unit], team)
}

// mix exchanges units of equal size at random.
func (s *search) mix() {
	for i := range s.evening.team {
		if j := s.random.below(len(s.evening.team)); s.mayExchange(i, j) {
			s.exchangeUnits(i, j)
		}
	}
}
