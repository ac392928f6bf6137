package db

import (
	"context"

	"github.com/google/uuid"
)

// ReapInstances ends instances of a region whose lease is past, and closes sessions that ended instances left behind,
// at most batch of each. It waits for nobody: what is being written comes next time. Errors: Unavailable.
func (s *Store) ReapInstances(ctx context.Context, region string, batch int) (ended, sessions int, err error) {
	err = s.inBulkTx(ctx, func(q *Queries) error {
		expired, err := q.ExpiredInstances(ctx, ExpiredInstancesParams{Region: region, Batch: int32(batch)})
		if err != nil {
			return err
		}
		for _, id := range expired {
			n, err := q.EndInstance(ctx, EndInstanceParams{Region: region, ID: id, Reason: "lease expired"})
			if err != nil {
				return err
			}
			ended, sessions = ended+1, sessions+int(n)
		}
		return nil
	})
	if err != nil {
		return 0, 0, classify(err)
	}
	n, err := s.reapStranded(ctx, region, batch)
	return ended, sessions + n, classify(err)
}

func (s *Store) reapStranded(ctx context.Context, region string, batch int) (sessions int, err error) {
	err = s.inBulkTx(ctx, func(q *Queries) error {
		stranded, err := q.StrandedInstances(ctx, StrandedInstancesParams{Region: region, Batch: int32(batch)})
		if err != nil {
			return err
		}
		for _, id := range stranded {
			n, err := q.CloseStranded(ctx, CloseStrandedParams{Region: region, ID: id, Reason: "instance gone"})
			if err != nil {
				return err
			}
			sessions += int(n)
		}
		return nil
	})
	return sessions, err
}

// ReapedSeats is what ReapSeats did.
type ReapedSeats struct {
	Looked int // at seats whose time it was: freed, or held on to because they were resolved since
	Freed  int
	Closed int // sessions that are empty by it
}

// ReapSeats frees seats of a region that nobody connected to in time, those of at most batch, and closes sessions that
// are empty by it. Errors: Unavailable.
func (s *Store) ReapSeats(ctx context.Context, region string, batch int) (done ReapedSeats, err error) {
	err = s.inBulkTx(ctx, func(q *Queries) error {
		done = ReapedSeats{}
		held, err := q.LockSessionsToLookAt(ctx, LockSessionsToLookAtParams{Region: region, Batch: int32(batch)})
		if err != nil || len(held) == 0 {
			return err
		}
		if done.Freed, err = q.releaseExpired(ctx, region, held); err != nil {
			return err
		}
		later, err := q.LookLater(ctx, LookLaterParams{Region: region, SessionIds: held})
		if err != nil {
			return err
		}
		done.Looked = done.Freed + int(later)
		closed, err := q.CloseEmptySessions(ctx, CloseEmptySessionsParams{Region: region, Ids: held})
		done.Closed = len(closed)
		return err
	})
	return done, classify(err)
}

func (q *Queries) releaseExpired(ctx context.Context, region string, sessions []uuid.UUID) (int, error) {
	expired, err := q.ExpiredSeats(ctx, ExpiredSeatsParams{Region: region, SessionIds: sessions})
	if err != nil || len(expired) == 0 {
		return 0, err
	}
	p := ReleaseSeatsParams{Region: region, Reason: "expired"}
	for _, st := range expired {
		p.SessionIds, p.Subs = append(p.SessionIds, st.SessionID), append(p.Subs, st.Sub)
	}
	freed, err := q.ReleaseSeats(ctx, p)
	return len(freed), err
}
