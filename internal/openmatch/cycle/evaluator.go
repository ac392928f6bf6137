package cycle

import (
	"context"

	"github.com/lattice-director/director/match"
)

// Evaluator chooses among the proposals of a cycle.
type Evaluator interface {
	// Evaluate reads proposals from in until it is closed, and calls accept with the ids of those that become matches,
	// at any time, best first. It ends when accept returns an error, and soon after ctx ends. Its error fails the cycle
	// for all callers.
	Evaluate(ctx context.Context, in <-chan Proposal, accept func(id string) error) error
}

// byScore is the default evaluator.
type byScore struct{}

// Evaluate implements [Evaluator]: it reads all proposals before it accepts one.
func (byScore) Evaluate(_ context.Context, in <-chan Proposal, accept func(id string) error) error {
	var all []match.Proposal
	for p := range in {
		all = append(all, match.Proposal{ID: p.ID, Score: p.Score, Tickets: p.Tickets, Backfill: p.Backfill})
	}
	for _, id := range match.Evaluate(all) {
		if err := accept(id); err != nil {
			return err
		}
	}
	return nil
}
