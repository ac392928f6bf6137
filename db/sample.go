package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// TakeSamples writes the measures of the present minute, which ops.minute_samples shows, unless another worker has, and
// deletes those of more than six hours ago, and the counts of requests. taken and dropped are numbers of rows. Errors: Unavailable.
func (s *Store) TakeSamples(ctx context.Context) (taken, dropped int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		n, err := q.TakeSamples(ctx)
		if err != nil || n == 0 {
			return err
		}
		taken = int(n)
		samples, err := q.DropSamples(ctx)
		if err != nil {
			return err
		}
		requests, err := q.DropRequestMinutes(ctx)
		dropped = int(samples + requests)
		return err
	})
	return taken, dropped, frame.Classify(err)
}
