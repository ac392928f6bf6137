package loop

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// lease is the sign of life of this worker. It is renewed beside the loop, so that a long decision does not cost it. It takes a
// connection of the pool that commits use: a worker whose pool is stuck for the length of the lease could commit nothing, and loses its
// profiles to one that can.
type lease struct {
	store  Store
	id     uuid.UUID
	lasts  time.Duration
	weight atomic.Int64 // what this worker decides about: candidates and profiles
}

func newLease(store Store, id uuid.UUID, lasts time.Duration) *lease {
	return &lease{store: store, id: id, lasts: lasts}
}

// begin renews the lease once, and then four times within each of its durations until ctx ends. lost is called when it could not
// be renewed in time: others may own the profiles by then.
func (l *lease) begin(ctx context.Context, lost func()) error {
	if err := l.renew(ctx); err != nil {
		return err
	}
	go func() {
		ticks := time.NewTicker(l.lasts / 4)
		defer ticks.Stop()
		renewed := time.Now()
		for time.Since(renewed) < l.lasts {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			if l.renew(ctx) == nil {
				renewed = time.Now()
			}
		}
		lost()
	}()
	return nil
}

func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.lasts)
	defer cancel()
	return l.store.RenewLoopWorker(ctx, db.LoopWorker{ID: l.id, Weight: int(l.weight.Load())}, l.lasts)
}
