package cycle

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// keepLease renews the owner's lease in a goroutine of its own, so that a slow step does not lose the cycle. The channel
// gets an error when the cycle is lost: another replica owns it, or the database was unavailable for as long as the lease.
func (o *owner) keepLease(ctx context.Context) (lost <-chan error) {
	failed := make(chan error, 1)
	o.running.Go(func() {
		tick := time.NewTicker(o.Lease / 4)
		defer tick.Stop()
		renewed := time.Now()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			err := o.Guard.Do("lease of a cycle", func() error { return o.renew(ctx) })
			if err == nil {
				renewed = time.Now()
			} else if !db.IsKind(err, db.Unavailable) || time.Since(renewed) > o.Lease {
				failed <- err
				return
			}
		}
	})
	return failed
}

func (o *owner) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return o.Store.RenewCycle(ctx, o.ref)
}

// end ends the cycle's row, so that the next cycle may begin, and then the calls.
func (o *owner) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	var text string
	if o.failure != nil {
		text = o.failure.Error()
	}
	if err := o.Store.EndCycle(ctx, o.ref, text); err != nil && !db.IsKind(err, db.Superseded) {
		o.Log.LogAttrs(ctx, slog.LevelWarn, "the end of a cycle could not be written: the next one waits for the lease", slog.Any("error", err))
	}
	o.endCalls(o.failure)
	o.forgetOldCycles(ctx)
}

// forgetInterval is how often a replica deletes old cycles.
const forgetInterval = 10 * time.Second

// forgetOldCycles deletes the rows of old cycles when forgetInterval is over.
func (o *owner) forgetOldCycles(ctx context.Context) {
	now := time.Now().UnixNano()
	if last := o.forgotAt.Load(); now-last < int64(forgetInterval) || !o.forgotAt.CompareAndSwap(last, now) {
		return
	}
	if _, err := o.Store.ForgetCycles(ctx, o.Region); err != nil {
		o.Log.LogAttrs(ctx, slog.LevelDebug, "old cycles could not be deleted; a later cycle tries again", slog.Any("error", err))
	}
}

// resign takes this replica's calls out of the cycle and lets another replica own it.
func (o *owner) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	var ids []uuid.UUID
	for _, c := range o.local() {
		ids = append(ids, c.id)
	}
	err := errors.Join(o.Store.LeaveCycle(ctx, o.ref, ids), o.Store.ResignCycle(ctx, o.ref))
	if err != nil {
		o.Log.LogAttrs(ctx, slog.LevelDebug, "a cycle could not be resigned: another replica takes it over once the lease has expired", slog.Any("error", err))
	}
}
