package decide

import "github.com/lattice-director/director/match/profile"

// search looks for a match around one seed. It is used again for the next seed, so that a search allocates little.
type search struct {
	plan *plan
	seed *candidate

	line       lineup  // the tickets chosen so far, in the order of choice
	seedOnly   lineup  // the seed alone
	trialLine  lineup  // memory for finalLine before a change
	finalLine  lineup  // tickets in the order of ids, with teams and roles
	choices    choices // the candidates that may be chosen
	roleCaster roleCaster
	fill       fill
	placement  placement
	evenSplit  evenSplit

	emptyPlaces   int  // places of roles that nobody of the line-up fills
	minPlayers    int  // that a match needs at the seed's age
	stepsLeft     int  // may be negative
	ranOutOfSteps bool // before everything was tried
	randomLot     lot

	bestSoFar *bestVerdicts // filled for an inquiry; nil for a decision
}

// The steps of a search: placing a ticket or trying an exchange is one.
const (
	baseNodes = 512 // doubled at each widening of the seed
	maxNodes  = 8192
)

// scannedPerStep is how many candidates a search looks at in the time of a step.
const scannedPerStep = 4

// placement distributes the tickets of a line-up over the teams.
type placement struct {
	units          []unit
	teamSizes      []int     // by team: players
	teamStrengths  []float64 // by team
	orderScratch   []int     // scratch: of teams, for each unit
	leastSizes     *leastStep
	stepsLeft      int       // of the distribution
	hasExchanged   bool      // exchanges were tried
	holdingRegions uint64    // where the rules that need no teams hold
	verdicts       []verdict // by rule, of finalLine
	teamsBefore    []int     // scratch: the teams before exchanges
	partyScratch   []int     // scratch: sizes
}

// unit is what stays in one team: a party, or a player where parties may be split.
type unit struct {
	pickIndex   int
	playerIndex int // in its party; wholeParty for a unit that is a party
	playerCount int
	strength    float64 // see strengthOf
}

// wholeParty is the playerIndex of a unit that is a party.
const wholeParty = -1

// fill is a match that is filled team by team.
type fill struct {
	freePlaces      []int // by team: places that are free
	emptyRolePlaces []int // by team: places of roles that nobody of it fills
}

// evenSplit is a match whose teams are made even.
type evenSplit struct {
	unitWeights []weight // by unit
	absoluteSum float64  // the sum of all numbers without their signs
	teamWeights []weight // by team, as of the last call of weighTeams
	unitTeams   []int    // by unit
	bestSeating seating  // the most even teams so far
	judgesLeft  int      // how often the rules may still be judged
}

// weight holds the numbers of a unit, or of all units of a team, from which the team's value is computed.
type weight struct {
	sum, low, high float64
	n              int // how many numbers
}

// seating is where the players of a line-up are.
type seating struct{ teamByPlayer, roleByPlayer []int }

// keepSeats copies the seating of a line-up.
func (s *seating) keepSeats(l *lineup) {
	s.teamByPlayer = append(s.teamByPlayer[:0], l.teamByPlayer...)
	s.roleByPlayer = append(s.roleByPlayer[:0], l.roleByPlayer...)
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

// bestVerdicts keeps the best verdict of each rule over the sets of tickets that a search judges.
type bestVerdicts struct {
	byRule   []verdict // by rule: of those judged, the one nearest to holding
	isJudged []bool    // by rule
}

func newBestVerdicts(rules int) *bestVerdicts {
	return &bestVerdicts{make([]verdict, rules), make([]bool, rules)}
}

// noteVerdict keeps a verdict over a set of tickets if it is the best of its rule. A nil r keeps none.
func (r *bestVerdicts) noteVerdict(rule int, v verdict) {
	if r == nil || r.isJudged[rule] && r.byRule[rule].excess <= v.excess {
		return
	}
	r.byRule[rule], r.isJudged[rule] = v, true
}
