package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// reporter stores that this process runs (ops.process_reports). A replica, also one with a worker, stores it by itself.
type reporter struct{ store *db.Store }

func (r reporter) runOnce(ctx context.Context) (Done, error) {
	return Done{}, r.store.ReportProcess(ctx, nil)
}

// clockReader compares this machine's clock with the database's. A replica, also one with a worker, does it by itself.
type clockReader struct{ store *db.Store }

func (r clockReader) runOnce(ctx context.Context) (Done, error) {
	return Done{}, r.store.ReadClock(ctx)
}
