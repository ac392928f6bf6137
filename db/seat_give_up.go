package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// GiveUpSeat frees the seat of a player who has not connected, and closes the session if nobody else holds a seat in
// it. It does nothing where the player has no such seat. Errors: Unavailable.
func (s *Store) GiveUpSeat(ctx context.Context, sessionID, sub string) error {
	region, id, ok := parseSessionID(sessionID)
	// In a session that does not exist, nobody has a seat.
	if !ok {
		return nil
	}
	var closed []uuid.UUID
	err := s.untilFlip(ctx, func() error {
		return s.frame.InTx(ctx, func(q *query.Queries) (err error) {
			closed, err = giveUpSeat(ctx, q, region, id, sub)
			return err
		})
	})
	if err == nil && len(closed) > 0 {
		// An instance has room again for a session of any size.
		s.Notify(TopicCapacity, "")
	}
	return frame.Classify(err)
}

// giveUpSeat frees the seat, and returns the session if it is closed because it is empty.
func giveUpSeat(ctx context.Context, q *query.Queries, region string, session uuid.UUID,
	sub string) (closed []uuid.UUID, err error) {
	ids := []uuid.UUID{session}
	// Sessions before seats, in the order of all locks.
	if _, err := q.LockReportedSessions(ctx, query.LockReportedSessionsParams{Region: region, Ids: ids}); err != nil {
		return nil, err
	}
	freed, err := q.ReleaseSeats(ctx, query.ReleaseSeatsParams{Region: region, SessionIds: ids, Subs: []string{sub},
		Reason: "given up"})
	if err != nil || len(freed) == 0 {
		return nil, err
	}
	return q.CloseEmptySessions(ctx, query.CloseEmptySessionsParams{Region: region, Ids: ids})
}
