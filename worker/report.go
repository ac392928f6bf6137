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
