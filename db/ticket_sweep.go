package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// TicketRegions returns the regions that have rows of tickets, settled tickets, backfills or cycles. Errors:
// Unavailable.
func (s *Store) TicketRegions(ctx context.Context) ([]string, error) {
	regions, err := s.q.TicketRegions(ctx)
	return regions, frame.Classify(err)
}

// SweepTickets deletes expired tickets, at most batch. Queries leave out expired tickets before that. Tickets of
// players get the final state "expired". Errors: Unavailable.
func (s *Store) SweepTickets(ctx context.Context, region string, batch int) (n int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		n = 0 // set anew for each attempt of the transaction
		ids, err := q.ExpiredTickets(ctx, query.ExpiredTicketsParams{Region: region, Batch: int32(batch)})
		if err != nil || len(ids) == 0 {
			return err
		}
		n, err = s.expire(ctx, q, region, ids)
		return err
	})
	if err != nil {
		return 0, frame.Classify(err)
	}
	if n > 0 {
		s.notifyLeft(region)
	}
	return n, nil
}

// ForgetSettled deletes the rows of tickets that were assigned or deleted longer ago than Timing.AssignedFor, at most
// batch. Errors: Unavailable.
func (s *Store) ForgetSettled(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.ForgetSettled(ctx, query.ForgetSettledParams{Region: region, Batch: int32(batch),
		Keep: s.cfg.Timing.AssignedFor})
	return int(n), frame.Classify(err)
}

// SweepBackfills deletes expired backfills, at most batch, and returns their tickets to the queue. Errors: Unavailable.
func (s *Store) SweepBackfills(ctx context.Context, region string, batch int) (n int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		ids, err := q.ExpiredBackfills(ctx,
			query.ExpiredBackfillsParams{Region: region, Batch: int32(batch), AckedFor: s.cfg.Timing.backfillTTL()})
		n = len(ids)
		if err != nil || n == 0 {
			return err
		}
		return deleteBackfills(ctx, q, region, ids...)
	})
	if err != nil {
		return 0, frame.Classify(err)
	}
	if n > 0 {
		s.notifyQueued(region)
	}
	return n, nil
}
