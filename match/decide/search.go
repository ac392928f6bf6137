package decide

import "github.com/lattice-director/director/match/profile"

// search looks for a match around one seed. It is used again for the next seed, so that a search allocates little.
type search struct {
	plan *plan
	seed *candidate

	line      lineup  // the tickets chosen so far, in the order of choice
	seedOnly  lineup  // the seed
	trialLine lineup  // of a change
	finalLine lineup  // the tickets of line in the order of ids, with teams and roles
	choices   choices // what may be chosen
	casting   casting
	filling   filling
	placing   placing
	evening   evening

	emptyPlaces   int  // places of roles that nobody of the line-up fills
	minPlayers    int  // players that a match needs now
	stepsLeft     int  // steps that are left
	ranOutOfSteps bool // steps ran out before everything was tried
	randomLot     lot

	reached *reached // filled for an inquiry; nil for a decision
}

// The steps of a search: placing a ticket or trying an exchange is one.
const (
	baseNodes = 512 // doubled at each widening of the seed
	maxNodes  = 8192
)

// scannedPerStep is how many candidates a search looks at in the time of a step.
const scannedPerStep = 4

// placing distributes the tickets of a line-up over the teams.
type placing struct {
	units          []unit
	teamSizes      []int     // by team: players
	teamStrengths  []float64 // by team
	orderScratch   []int     // scratch: of teams, for each unit
	leastSizes     *leastStep
	stepsLeft      int  // steps that are left
	hasExchanged   bool // exchanges were tried
	holdingRegions uint64
	verdicts       []verdict // by rule
	teamsBefore    []int     // scratch: the teams before exchanges
	partyScratch   []int     // scratch: sizes
}

// unit is what stays in one team: a party, or a player where parties may be split.
type unit struct {
	pickIndex   int
	playerIndex int // of its party; wholeParty
	playerCount int
	strength    float64
}

// wholeParty is the player of a unit that is a party.
const wholeParty = -1

// filling is a match that is filled team by team.
type filling struct {
	freePlaces      []int // by team: places that are free
	emptyRolePlaces []int // by team: places of roles that nobody of it fills
}

// evening is a match whose teams are made even.
type evening struct {
	unitWeights []weight // by unit
	absoluteSum float64  // the sum of all numbers without their signs
	teamWeights []weight // by team, as of the last call of unevenValue
	unitTeams   []int    // by unit
	bestSeating seating  // the most even teams so far
	judgesLeft  int      // how often the rules may still be judged
}

// weight is what a unit adds to the value of its team.
type weight struct {
	sum, low, high float64
	n              int
}

// seating is where the players of a line-up are.
type seating struct{ teamByPlayer, roleByPlayer []int }

// keepSeats makes it the seating of a line-up.
func (s *seating) keepSeats(l *lineup) {
	s.teamByPlayer, s.roleByPlayer = append(s.teamByPlayer[:0], l.teamByPlayer...), append(s.roleByPlayer[:0],
		l.roleByPlayer...)
}

// foldedValue returns the value of a team with these numbers.
func (w *weight) foldedValue(f profile.Fold) float64 {
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

// reached keeps the best verdict of each rule over the sets of tickets that a search judges.
type reached struct {
	bestVerdicts []verdict // by rule: of those judged, the one nearest to holding
	isJudged     []bool    // by rule
}

func newReached(rules int) *reached { return &reached{make([]verdict, rules), make([]bool, rules)} }

// noteVerdict notes a verdict over a set of tickets.
func (r *reached) noteVerdict(rule int, v verdict) {
	// nil: the search decides, and nobody asks how near it came.
	if r == nil || r.isJudged[rule] && r.bestVerdicts[rule].excess <= v.excess {
		return
	}
	r.bestVerdicts[rule], r.isJudged[rule] = v, true
}
