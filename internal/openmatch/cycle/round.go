package cycle

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// round is a cycle as this replica takes part in it. Its goroutine plays one [role] at a time.
type round struct {
	resources *resources

	cycleRef      db.CycleRef
	beganAt       time.Time
	changed       chan struct{}   // wakes the round: a call of this replica or the evaluation has another state
	proposalAdded chan struct{}   // wakes the round: a call of this replica has a new proposal
	rowsChanged   <-chan struct{} // wakes the round: rows of the universe's cycle may have changed

	registersUntil, collectsUntil time.Time // by this process's monotonic clock

	nextReadAt time.Time     // when the rows of other replicas are to be read again
	batchDelay time.Duration // how long a new proposal waits for others, which the same statement writes
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

func newRound(shared *resources, c db.Cycle) *round {
	r := &round{
		resources: shared, beganAt: time.Now(),
		// The region of a cycle's rows is that of the queue: the universe.
		cycleRef: db.CycleRef{Region: shared.options.Universe, ID: c.ID, ReplicaID: shared.options.Replica,
			LeaseTTL: shared.options.Lease},
		changed: make(chan struct{}, 1), proposalAdded: make(chan struct{}, 1),
	}
	r.setTimes(c)
	return r
}

func (r *round) setTimes(c db.Cycle) {
	now := time.Now()
	r.registersUntil, r.collectsUntil = now.Add(c.RegistersIn), now.Add(c.CollectsIn)
}

// playRole takes steps until the role is over. It is no follow.Loop, because a step that fails ends the round, the role
// says how long it may idle, and proposals wait for others to form a batch. Errors: those of a step; the cause of ctx's
// end.
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

// waitForChange waits for a change, for a duration at most. If rows of others may have changed, they are due to be read.
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
			r.nextReadAt = time.Time{}
		case <-timeout:
		case <-ctx.Done():
		}
		return
	}
}

// endCalls ends the calls. err is why the round ended early; nil when the cycle has ended, or has no more calls here.
// After an error, that of the round or of the cycle, callers get that error alone.
func (r *round) endCalls(err error) {
	err = publicError(err)
	if err == nil {
		err = r.failure
	}
	for _, c := range r.localCalls() {
		if err == nil {
			// The cycle has ended well: a match function that still runs is canceled, and its caller gets errOverrun.
			c.finishProposing(errOverrun)
		}
		c.end(err)
	}
}

// addCalls adds calls that have joined the cycle, and starts their match functions. The caller holds the engine's lock
// and has found the round under it: a round leaves the engine's map before it ends its calls.
func (r *round) addCalls(calls []*call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, calls...)
	for _, c := range calls {
		c.startFunction(&joinedCycle{ref: r.cycleRef, changed: r.changed, proposalAdded: r.proposalAdded})
	}
	wait.Wake(r.changed)
}

// localCalls returns the calls of this replica. More may join while the cycle registers.
func (r *round) localCalls() []*call {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The slice is clipped, so that an append of the caller does not write where calls that join later are stored.
	return slices.Clip(r.calls)
}

// overCalls returns the calls of this replica that wait for no more matches.
func (r *round) overCalls() (over []*call) {
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
	// The slice is cloned, because localCalls has returned it to others.
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

// cancelFunctions cancels the match functions that still run. Their callers get errOverrun.
func (r *round) cancelFunctions() {
	for _, c := range r.localCalls() {
		c.finishProposing(errOverrun)
	}
}
