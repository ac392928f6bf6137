package cycle

import (
	"context"
	"log/slog"

	"github.com/lattice-director/director/db"
)

// takePartGuarded takes part in the cycle until it has ended for the calls of this replica. After a panic another
// replica may take the cycle over once the lease has expired. Errors: why the cycle ended early on this replica.
func (r *round) takePartGuarded(ctx context.Context, c db.Cycle) error {
	return r.resources.options.Guard.Do("cycle", func() error {
		err := r.takePart(ctx, c)
		if err != nil {
			r.leaveCycle(ctx)
		}
		return err
	})
}

// takePart owns the cycle, or follows it; a follower that has taken the cycle over owns it from then on.
func (r *round) takePart(ctx context.Context, c db.Cycle) error {
	notified, stop := r.resources.options.Store.Subscribe(db.TopicCycle, r.resources.options.Universe)
	defer stop()
	r.rowsChanged = notified
	if c.Owner == r.resources.options.Replica {
		return newFirstOwner(r, c).runCycle(ctx)
	}
	f := newFollower(r)
	if err := r.playRole(ctx, f); err != nil || f.ownCycle == nil {
		return err
	}
	return newOwner(r, *f.ownCycle).runCycle(ctx)
}

// leaveCycle takes this replica's calls out of a cycle in which it can take part no longer, and lets another replica
// own it. If that fails, the calls count as gone, and the owner as well, once the lease has expired.
func (r *round) leaveCycle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if _, err := r.resources.options.Store.LeaveCycle(ctx, r.cycleRef, idsOf(r.localCalls())); err != nil {
		r.resources.options.Log.LogAttrs(ctx, slog.LevelDebug, "a cycle could not be left: others wait for the lease",
			slog.Any("error", err))
	}
}
