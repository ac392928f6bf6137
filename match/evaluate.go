package match

import (
	"cmp"
	"math"
	"slices"
)

// Proposal is a match that a match function proposes, as the evaluator sees it.
type Proposal struct {
	ID       string
	Score    *float64 // nil where none was given, which is less than any number
	Tickets  []string
	Backfill string // the id of a backfill that exists; empty where there is none, or one that is still to be created
}

// Evaluate is the default evaluator: it accepts proposals by score, the greatest first, unless a ticket or an existing
// backfill of theirs is in one accepted before. Of equal scores the one that was given first comes first; NaN comes last.
// It answers the ids of those accepted, best first. A proposal whose score cannot be read must not be among those given:
// it is dropped.
func Evaluate(proposals []Proposal) []string {
	ranked := slices.SortedStableFunc(slices.Values(proposals), func(a, b Proposal) int {
		return cmp.Compare(b.score(), a.score())
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
		backfills[p.Backfill] = p.Backfill != ""
		accepted = append(accepted, p.ID)
	}
	return accepted
}

func (p Proposal) score() float64 {
	if p.Score == nil {
		return math.Inf(-1)
	}
	return *p.Score
}
