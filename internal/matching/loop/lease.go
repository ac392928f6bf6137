package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/tenure"
)

var errLeaseLost = errors.New("the lease could not be renewed in time: other workers may decide for the profiles")

// lease is the sign of life of this worker. It is renewed beside the loop, so that a long decision does not lose it. A
// renewal takes a connection of the pool that commits use: a worker whose pool is stuck for the length of the lease
// could commit nothing, and loses its profiles to one that can.
type lease struct {
	store     Store
	workerID  uuid.UUID
	lastsFor  time.Duration
	ownWeight atomic.Int64 // how many candidates and profiles this worker decides about; each renewal writes it
}

func newLease(store Store, id uuid.UUID, lasts time.Duration) *lease {
	return &lease{store: store, workerID: id, lastsFor: lasts}
}

// beginRenewing renews the lease once, and then four times within each of its durations until ctx ends. lost is called
// when it could not be renewed in time: others may own the profiles by then.
func (l *lease) beginRenewing(ctx context.Context, lost func()) error {
	// As a call of the database: its failure in an outage leaves what this worker knows valid.
	if err := callDatabase(ctx, "renewing the lease of this worker", l.renewOnce); err != nil {
		return err
	}
	go func() {
		renewal := tenure.Lease{Renew: l.renewOnce, Every: l.lastsFor / 4, Lasts: l.lastsFor}
		if renewal.Hold(ctx) != nil && ctx.Err() == nil {
			lost()
		}
	}()
	return nil
}

func (l *lease) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.lastsFor) // an answer after that would be too late
	defer cancel()
	return l.store.RenewLoopWorker(ctx, db.LoopWorker{ID: l.workerID, Weight: int(l.ownWeight.Load())}, l.lastsFor)
}
