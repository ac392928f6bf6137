package decide

import (
	"math"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// pivot is the number along which candidates are sorted: what the first `near` rule compares, else the first one that
// is traded, else what the first `balance` rule compares, else the ticket's turn.
type pivot struct {
	rule         *rule // nil: no rule limits the number
	numberColumn int   // noColumn: the ticket's turn
	byRole       []int // as of a scope
	partyFold    profile.Fold
	reachFactor  float64 // a seed's window reaches so many times the rule's limit; 0: the rule does not limit it
}

// reachAt returns how far the window of a seed extends from its own numbers, after so many steps of the pivot's rule.
func (p *pivot) reachAt(step int) float64 {
	if p.rule == nil || p.reachFactor == 0 {
		return math.Inf(1)
	}
	lim := &p.rule.baseLimits
	if step > 0 {
		lim = &p.rule.limitSteps[step-1].Limits
	}
	if lim.Ended { // the rule admits everybody from this step on
		return math.Inf(1)
	}
	return float64(p.reachFactor * lim.Within)
}

// widthOf returns the width of the range in which all keys of a match are, if its seed's window has that reach.
func (p *pivot) widthOf(reach float64) float64 {
	// Two older tickets may be farther from each other than each of them from the seed.
	if p.rule != nil && p.rule.ageKind == profile.Each {
		return 2 * reach
	}
	return reach
}

// widthAt is widthOf for windows of seeds of an age.
func (p *pivot) widthAt(age time.Duration) float64 { return p.widthOf(p.reachAt(p.stepAt(age))) }

// stepAt returns how many steps of the pivot's rule an age has passed.
func (p *pivot) stepAt(age time.Duration) int {
	if p.rule == nil {
		return 0
	}
	return p.rule.stepAt(age)
}

// spanOf returns the least and the greatest number of a party along the pivot, in the roles that its players wish
// first; low > high if all are left out.
func (p *pivot) spanOf(c *candidate) (low, high float64) {
	if p.byRole == nil {
		return c.numberSpan(p.numberColumn, p.partyFold)
	}
	var wished []float64
	for player := range c.playerCount {
		if x := c.wishedRating(p.numberColumn, p.byRole, player); !math.IsNaN(x) {
			wished = append(wished, x)
		}
	}
	return extremesOf(foldParty(wished, 0, p.partyFold))
}

// keyWindow returns the range of keys of the candidates that may be with c, whose players are within reach of its own.
// Rounding must not exclude a candidate that the rule admits, so the window is a little wider; the rule itself is judged
// exactly.
func keyWindow(c *candidate, reach float64) (low, high float64) {
	if math.IsInf(reach, 1) {
		return math.Inf(-1), math.Inf(1)
	}
	margin := float64((math.Abs(c.pivotLow) + math.Abs(c.pivotHigh) + reach) * 1e-15)
	return c.pivotHigh - reach - margin, c.pivotLow + reach + margin
}
