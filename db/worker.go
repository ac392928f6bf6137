package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// RecordRun stores, for ops.worker_loops, that a run of a worker's loop, which runs at the given interval, has just
// succeeded. The time is written at most every 10 seconds, however many workers call RecordRun. Errors: Unavailable.
func (s *Store) RecordRun(ctx context.Context, loop string, every time.Duration) error {
	return frame.Classify(s.q.RecordRun(ctx, query.RecordRunParams{Loop: loop, Every: every}))
}
