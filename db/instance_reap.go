package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// ReapInstances ends instances of a region whose lease has expired, at most batch, and closes the stranded sessions of
// at most batch instances. It returns how many instances it ended, and how many sessions it closed. It skips locked
// rows, which a later call finds. Errors: Unavailable.
func (s *Store) ReapInstances(ctx context.Context, region string, batch int) (ended, closed int, err error) {
	err = s.frame.InBulkTx(ctx, func(q *query.Queries) error {
		expired, err := q.ExpiredInstances(ctx, query.ExpiredInstancesParams{Region: region, Batch: int32(batch)})
		if err != nil {
			return err
		}
		for _, id := range expired {
			n, err := q.EndInstance(ctx, query.EndInstanceParams{Region: region, ID: id, Reason: "lease expired"})
			if err != nil {
				return err
			}
			// InBulkTx runs this once: a repetition would count the same instances again.
			ended, closed = ended+1, closed+int(n)
		}
		return nil
	})
	if err != nil {
		return 0, 0, frame.Classify(err)
	}
	// In a second transaction, so that expired leases do not wait for the sessions of instances that ended before.
	n, err := s.closeStranded(ctx, region, batch)
	return ended, closed + n, frame.Classify(err)
}

// closeStranded closes open sessions of instances that have ended: a session may have been opened while its instance
// ended.
func (s *Store) closeStranded(ctx context.Context, region string, batch int) (closed int, err error) {
	err = s.frame.InBulkTx(ctx, func(q *query.Queries) error {
		stranded, err := q.StrandedInstances(ctx, query.StrandedInstancesParams{Region: region, Batch: int32(batch)})
		if err != nil {
			return err
		}
		for _, id := range stranded {
			n, err := q.CloseStranded(ctx, query.CloseStrandedParams{Region: region, ID: id, Reason: "instance gone"})
			if err != nil {
				return err
			}
			closed += int(n)
		}
		return nil
	})
	return closed, err
}

// ForgetInstances deletes instances of a region that ended longer than keep ago, at most batch. Errors: Unavailable.
func (s *Store) ForgetInstances(ctx context.Context, region string, keep time.Duration, batch int) (int, error) {
	n, err := s.q.ForgetInstances(ctx, query.ForgetInstancesParams{Region: region, Keep: keep, Batch: int32(batch)})
	return int(n), frame.Classify(err)
}
