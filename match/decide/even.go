package decide

import (
	"math"

	"github.com/lattice-director/director/match/profile"
)

// evenness is what the teams of a match are made equal by: the first balance rule's numbers, else the pivot's means.
type evenness struct {
	column int // of numbers; -1: none
	party  profile.Fold
	teams  profile.Fold
}

// The bounds of making teams even: how often it begins with other teams, and how often it judges the rules.
const (
	evenTries  = 6
	evenJudges = 64
)

// weight is what a unit adds to the value of its team.
type weight struct {
	sum, low, high float64
	n              int
}

// evening is a match whose teams are made even.
type evening struct {
	weights []weight // by unit
	teams   []weight // by team
	team    []int    // by unit
	best    []int    // by player: the most even teams so far
	judges  int      // that are left
}

// even exchanges players between the teams of a match, as long as that makes the teams' values more equal and every rule holds. It begins
// several times, with teams that are mixed at random, because exchanges of two alone end at teams that others would better.
func (s *search) even() {
	if s.plan.even.column < 0 || len(s.plan.teams) < 2 {
		return
	}
	e := &s.evening
	s.weigh()
	e.judges = evenJudges
	e.best = append(e.best[:0], s.final.team...)
	least := s.unevenValue()
	for try := 0; try < evenTries && least > 0 && e.judges > 0; try++ {
		if try > 0 {
			s.mix()
		}
		if value := s.descendEven(try == 0); value < least && s.violation() == 0 {
			least = value
			e.best = append(e.best[:0], s.final.team...)
		}
	}
	copy(s.final.team, e.best)
	s.violation() // casts the roles and sets the verdicts of these teams
}

// weigh computes what each unit adds to its team.
func (s *search) weigh() {
	e := &s.evening
	s.cutUnits(s.plan.split)
	e.weights, e.team = e.weights[:0], e.team[:0]
	e.teams = append(e.teams[:0], make([]weight, len(s.plan.teams))...)
	for i := range s.placing.units {
		u := &s.placing.units[i]
		values := s.final.picks[u.pick].column(s.plan.even.column)
		if u.player >= 0 {
			values = values[u.player : u.player+1]
		}
		kept := s.final.values[:0]
		for _, x := range values {
			if x == x {
				kept = append(kept, x)
			}
		}
		kept = foldParty(kept, 0, s.plan.even.party)
		s.final.values = kept
		low, high := extremes(kept)
		e.weights = append(e.weights, weight{sum(kept), low, high, len(kept)})
		e.team = append(e.team, s.teamOf(u))
	}
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

// descendEven makes the exchanges of two units that bring the teams nearer, until there is none, and returns how far they are apart. With
// judged, every rule holds after each exchange.
func (s *search) descendEven(judged bool) float64 {
	e := &s.evening
	least := s.unevenValue()
	for improved := true; improved; {
		improved = false
		for i := range e.team {
			for j := i + 1; j < len(e.team); j++ {
				if !s.mayExchange(i, j) {
					continue
				}
				s.exchangeUnits(i, j)
				value := s.unevenValue()
				if value >= least || judged && !s.holdsEven() {
					s.exchangeUnits(i, j)
					continue
				}
				least, improved = value, true
			}
		}
	}
	return least
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
	e := &s.evening
	e.team[i], e.team[j] = e.team[j], e.team[i]
	s.put(&s.placing.units[i], e.team[i])
	s.put(&s.placing.units[j], e.team[j])
}

// mix exchanges units of equal size at random.
func (s *search) mix() {
	for i := range s.evening.team {
		if j := s.random.below(len(s.evening.team)); s.mayExchange(i, j) {
			s.exchangeUnits(i, j)
		}
	}
}
