package db

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// Sighting says when a worker had a ticket as a candidate, which a replay repeats.
type Sighting struct {
	TicketID   string
	SeenAt     time.Time // when the worker first had the ticket
	LeftSeenAt time.Time // when it learned that the ticket had left without a match; zero: the ticket waits
}

// RecordSightings records sightings: in the rows of tickets that wait, and in the history of other tickets. What
// another worker has recorded stays, so a call whose outcome is unknown may be repeated. Errors: Unavailable.
func (s *Store) RecordSightings(ctx context.Context, universe string, sightings []Sighting) error {
	for page := range slices.Chunk(sightings, historyPage) {
		if err := s.recordSightings(ctx, universe, page); err != nil {
			return frame.Classify(err)
		}
	}
	return nil
}

// recordSightings writes a part of the sightings in a transaction of its own.
func (s *Store) recordSightings(ctx context.Context, universe string, sightings []Sighting) error {
	// Two statements: tickets that have left get other columns than tickets that wait.
	waiting, left := query.RecordSeenParams{Universe: universe}, query.RecordLeavingSeenParams{Universe: universe}
	for _, k := range sightings {
		if k.LeftSeenAt.IsZero() {
			waiting.Ids = append(waiting.Ids, k.TicketID)
			waiting.SeenAt = append(waiting.SeenAt, k.SeenAt)
			continue
		}
		left.Ids = append(left.Ids, k.TicketID)
		left.SeenAt = append(left.SeenAt, k.SeenAt)
		left.LeftSeenAt = append(left.LeftSeenAt, k.LeftSeenAt)
	}
	return s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		if len(waiting.Ids) > 0 {
			query.QueueExec(q.Deferred(), (*query.Queries).RecordSeen, waiting)
		}
		if len(left.Ids) > 0 {
			query.QueueExec(q.Deferred(), (*query.Queries).RecordLeavingSeen, left)
		}
		return nil
	})
}
