package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// clockReader compares this machine's clock with the database's. A replica, also one with a worker, does it by itself.
type clockReader struct{ store *db.Store }

func (r clockReader) runOnce(ctx context.Context) (Done, error) {
	return Done{}, r.store.ReadClock(ctx)
}
