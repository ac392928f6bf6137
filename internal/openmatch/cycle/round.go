package cycle

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// round is a cycle as this replica takes part in it. Its goroutine plays one [role] at a time.
type round struct {
	engine *Engine

	cycleRef      db.CycleRef
	beganAt       time.Time
	changed       chan struct{}   // wakes the round: a call of this replica or the evaluation has another state
	proposalAdded chan struct{}   // wakes the round: a call of this replica has a new proposal
	rowsChanged   <-chan struct{} // wakes the round: rows of the region's cycle may have changed

	registersUntil, collectsUntil time.Time // by this process's monotonic clock

	readAt     time.Time     // when the rows of other replicas are to be read again
	batchDelay time.Duration // how long a new proposal waits for more of them
	failure    error         // why the cycle failed for all callers

	mu    sync.Mutex
	calls []*call
}

// role is what a replica does in a cycle: it owns the cycle, or follows it.
type role interface {
	// runStep does what is due, and reports whether the role is over.
	runStep(ctx context.Context) (over bool, err error)
	// idleTime returns how long no step is due if nothing changes.
	idleTime() time.Duration
}

func newRound(e *Engine, c db.Cycle) *round {
	r := &round{
		engine: e, cycleRef: db.CycleRef{Region: e.options.Region, ID: c.ID, ReplicaID: e.options.Replica,
			LeaseTTL: e.options.Lease}, beganAt: time.Now(),
		changed: make(chan struct{}, 1), proposalAdded: make(chan struct{}, 1),
	}
	r.setTimes(c)
	return r
}

func (r *round) setTimes(c db.Cycle) {
	now := time.Now()
	r.registersUntil, r.collectsUntil = now.Add(c.RegistersIn), now.Add(c.CollectsIn)
}

// takePartGuarded takes part in the cycle until it has ended for the calls of this replica. After a panic another replica may take
// the cycle over once the lease has expired.
func (r *round) takePartGuarded(ctx context.Context, c db.Cycle) {
	err := r.engine.options.Guard.Do("cycle", func() error {
		err := r.takePart(ctx, c)
		if err != nil {
			r.leaveCycle(ctx)
		}
		return err
	})
	r.endCalls(err)
	if err != nil && ctx.Err() == nil {
		r.engine.options.Log.LogAttrs(ctx, slog.LevelWarn, "a cycle ended early on this replica",
			slog.String("cycle", r.cycleRef.ID.String()), slog.Any("error", err))
	}
}

func (r *round) takePart(ctx context.Context, c db.Cycle) error {
	notified, stop := r.engine.options.Store.Subscribe(db.TopicCycle, r.engine.options.Region)
	defer stop()
	r.rowsChanged = notified
	if c.Owner == r.engine.options.Replica {
		return newOwner(r, c).runCycle(ctx)
	}
	f := newFollower(r)
	if err := r.playRole(ctx, f); err != nil || f.ownCycle == nil {
		return err
	}
	return takenOver(r, *f.ownCycle).runCycle(ctx)
}

// playRole takes steps until the role is over. It is no follow.Loop, because a step that fails ends the round, the role says
// how long it may idle, and proposals wait for others to form a batch. Errors: those of a step; the cause of ctx's end.
func (r *round) playRole(ctx context.Context, as role) error {
	for ctx.Err() == nil {
		over := false
		err := inStep(ctx, func(ctx context.Context) (err error) { over, err = as.runStep(ctx); return err })
		if over || err != nil && ctx.Err() == nil {
			return err
		}
		r.waitForChange(ctx, as.idleTime())
	}
	return context.Cause(ctx)
}

// waitForChange waits for a change, for a duration at most.
func (r *round) waitForChange(ctx context.Context, most time.Duration) {
	timeout, batch := time.After(most), (<-chan time.Time)(nil)
	for {
		select {
		case <-r.proposalAdded:
			if r.batchDelay > 0 {
				// The delay counts from the first proposal, so that a steady flow of them does not put the statement
				// off.
				if batch == nil {
					batch = time.After(r.batchDelay)
				}
				continue
			}
		case <-batch:
		case <-r.changed:
		case <-r.rowsChanged:
			r.readAt = time.Time{}
		case <-timeout:
		case <-ctx.Done():
		}
		return
	}
}

// leaveCycle takes this replica's calls out of a cycle in which it can take part no longer, and lets another replica
// own it. If that fails, the calls count as gone, and the owner as well, once the lease has expired.
func (r *round) leaveCycle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if _, err := r.engine.options.Store.LeaveCycle(ctx, r.cycleRef, idsOf(r.localCalls())); err != nil {
		r.engine.options.Log.LogAttrs(ctx, slog.LevelDebug, "a cycle could not be left: others wait for the lease",
			slog.Any("error", err))
	}
}

// endCalls ends the calls. err is why the round ended early; nil when the cycle has ended, or has no more calls here.
func (r *round) endCalls(err error) {
	if err == nil {
		r.engine.awaitJoining()
	}
	r.engine.mu.Lock()
	delete(r.engine.roundByID, r.cycleRef.ID)
	r.engine.mu.Unlock()
	if err = publicError(err); err == nil {
		err = r.failure
	}
	for _, c := range r.localCalls() {
		if err == nil {
			c.finishProposing(errOverrun)
		}
		c.end(err)
	}
}

// addCalls adds calls that have joined the cycle, and starts their match functions. The caller holds the engine's lock and
// has found the round under it: a round leaves the engine's map before it ends its calls.
func (r *round) addCalls(calls []*call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, calls...)
	for _, c := range calls {
		c.startFunction(r)
	}
	wait.Wake(r.changed)
}

// localCalls returns the calls of this replica. More may join while the cycle registers.
func (r *round) localCalls() []*call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.calls)
}

// takeFinished returns the calls of this replica that wait for no more matches.
func (r *round) takeFinished() (over []*call) {
	for _, c := range r.localCalls() {
		if c.isOver() {
			over = append(over, c)
		}
	}
	return over
}

// dropCalls ends calls and takes them out of the round.
func (r *round) dropCalls(calls []*call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = slices.DeleteFunc(slices.Clone(r.calls), func(c *call) bool { return slices.Contains(calls, c) })
	for _, c := range calls {
		c.end(nil)
	}
}

func idsOf(calls []*call) (ids []uuid.UUID) {
	for _, c := range calls {
		ids = append(ids, c.id)
	}
	return ids
}

// cancelFunctions cancels the match functions that still run.
func (r *round) cancelFunctions() {
	for _, c := range r.localCalls() {
		c.finishProposing(errOverrun)
	}
}
