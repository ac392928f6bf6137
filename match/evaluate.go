package match

import (
	"cmp"
	"math"
	"slices"
)

// Proposal is a match that a match function proposes, with the fields that the evaluator needs.
type Proposal struct {
	ID       string
	Score    *float64 // nil if the proposal has none; it ranks below every number
	Tickets  []string
	Backfill string // the id of an existing backfill; empty for none and for one that is still to be created
}

// Evaluate is the default evaluator. It goes through the proposals by score, the highest first, and accepts each that
// shares no ticket and no existing backfill with one accepted before. Proposals with equal scores keep their order; NaN
// ranks last. It returns the ids of the accepted proposals in this order. The caller must drop proposals whose score
// cannot be parsed.
func Evaluate(proposals []Proposal) []string {
	ranked := slices.SortedStableFunc(slices.Values(proposals), func(a, b Proposal) int {
		return cmp.Compare(b.scoreOrLowest(), a.scoreOrLowest())
	})
	tickets, backfills := map[string]bool{}, map[string]bool{}
	var accepted []string
	for _, p := range ranked {
		if backfills[p.Backfill] || slices.ContainsFunc(p.Tickets, func(id string) bool { return tickets[id] }) {
			continue
		}
		for _, id := range p.Tickets {
			tickets[id] = true
		}
		// Many proposals may have no backfill.
		backfills[p.Backfill] = p.Backfill != ""
		accepted = append(accepted, p.ID)
	}
	return accepted
}

// scoreOrLowest returns the score, or -Inf without one.
func (p Proposal) scoreOrLowest() float64 {
	if p.Score == nil {
		return math.Inf(-1)
	}
	return *p.Score
}
