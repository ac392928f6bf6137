package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// TakeSamples writes the measures of the present minute, which ops.minute_samples shows, unless another worker has, and
// deletes those of more than six hours ago. taken and dropped are numbers of rows. Errors: Unavailable.
func (s *Store) TakeSamples(ctx context.Context) (taken, dropped int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		n, err := q.TakeSamples(ctx)
		if err != nil || n == 0 {
			return err
		}
		taken = int(n)
		n, err = q.DropSamples(ctx)
		dropped = int(n)
		return err
	})
	return taken, dropped, frame.Classify(err)
}
