package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// ReapedSeats is what ReapSeats did.
type ReapedSeats struct {
	ExaminedSeats  int // seats whose look_at time had come: freed, or kept because they were resolved since
	Freed          int
	ClosedSessions int // sessions that became empty
}

// ReapSeats frees the seats of a region whose players did not connect in time, in at most batch sessions, and closes
// sessions that become empty. Errors: Unavailable.
func (s *Store) ReapSeats(ctx context.Context, region string, batch int) (done ReapedSeats, err error) {
	err = s.frame.InBulkTx(ctx, func(q *query.Queries) error {
		done = ReapedSeats{}
		sessions, err := q.LockSessionsToLookAt(ctx,
			query.LockSessionsToLookAtParams{Region: region, Batch: int32(batch)})
		if err != nil || len(sessions) == 0 {
			return err
		}
		if done.Freed, err = releaseExpiredSeats(ctx, q, region, sessions); err != nil {
			return err
		}
		// Seats that were resolved meanwhile have a later expiry, at which their session is examined again.
		postponed, err := q.PostponeLookAt(ctx, query.PostponeLookAtParams{Region: region, SessionIds: sessions})
		if err != nil {
			return err
		}
		done.ExaminedSeats = done.Freed + int(postponed)
		closed, err := q.CloseEmptySessions(ctx, query.CloseEmptySessionsParams{Region: region, Ids: sessions})
		done.ClosedSessions = len(closed)
		return err
	})
	if err == nil && done.ClosedSessions > 0 {
		s.Notify(TopicCapacity, "")
	}
	return done, frame.Classify(err)
}

func releaseExpiredSeats(ctx context.Context, q *query.Queries, region string, sessions []uuid.UUID) (int, error) {
	expired, err := q.ExpiredSeats(ctx, query.ExpiredSeatsParams{Region: region, SessionIds: sessions})
	if err != nil || len(expired) == 0 {
		return 0, err
	}
	p := query.ReleaseSeatsParams{Region: region, Reason: "expired"}
	for _, st := range expired {
		p.SessionIds = append(p.SessionIds, st.SessionID)
		p.Subs = append(p.Subs, st.Sub)
	}
	freed, err := q.ReleaseSeats(ctx, p)
	return len(freed), err
}

// PruneRedeemedTokens deletes token ids of a region that no valid token can have any more, at most batch. Errors:
// Unavailable.
func (s *Store) PruneRedeemedTokens(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.PruneRedeemedTokens(ctx, query.PruneRedeemedTokensParams{Region: region, Batch: int32(batch)})
	return int(n), frame.Classify(err)
}
