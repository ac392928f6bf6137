package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// SetTicketState records that tickets entered a state, which their players see. Tickets that left the queue are left
// out. Errors: Unavailable.
func (s *Store) SetTicketState(ctx context.Context, universe string, state TicketState, ids []string,
	reason string) error {
	if len(ids) == 0 {
		return nil
	}
	// The column region of tickets holds their universe.
	p := query.SetTicketStateParams{Region: universe, State: string(state), Ids: ids}
	// The statement takes a reason for each ticket.
	for range ids {
		p.Reasons = append(p.Reasons, reason)
	}
	err := s.frame.InBulkTxWithRetries(ctx,
		func(q *query.Queries) error { _, err := q.SetTicketState(ctx, p); return err })
	// Also after an error: the transaction may be committed although its answer was lost.
	s.Notify(TopicTicketEvents, universe)
	return frame.Classify(err)
}
