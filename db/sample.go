package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// TakeSamples writes the measures of the present minute, which ops.minute_samples shows, and deletes measures and
// counts of requests that are older than six hours. It does nothing where another worker has written this minute. taken
// and dropped are numbers of rows. Errors: Unavailable.
func (s *Store) TakeSamples(ctx context.Context) (taken, dropped int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		// Set anew for each attempt of the transaction.
		taken, dropped = 0, 0
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
