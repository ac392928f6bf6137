package cycle

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// joinInterval is how often waiting calls try to join a cycle when no notification arrives.
const joinInterval = 100 * time.Millisecond

// Run puts calls into cycles and runs these until ctx ends. Then it ends all calls as Unavailable, leaves its cycles to
// other replicas, and returns nil. Call it once.
func (e *Engine) Run(ctx context.Context) error {
	notified, stop := e.resources.options.Store.Subscribe(db.TopicCycle, e.resources.options.Universe)
	defer stop()
	defer e.resources.goroutines.Wait()
	defer e.close()
	// No follow.Loop: its pause after a run would cost a call the phase of registration, and new calls are no reason to
	// try again while the running cycle accepts none.
	for {
		arrived, retry := e.callArrived, (<-chan time.Time)(nil)
		if !e.joinWaiting(ctx) { // another call would not join either
			arrived, retry = nil, time.After(joinInterval)
		}
		select {
		case <-arrived:
		case <-notified:
		case <-retry:
		case <-ctx.Done():
			return nil
		}
	}
}

// enqueueCall queues a call for the next cycle.
func (e *Engine) enqueueCall(c *call) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.isClosed:
		return unavailableError("this replica is stopping")
	case e.callCount >= maxCalls:
		return unavailableError("too many calls are waiting for matches")
	}
	e.callCount++
	e.resources.metrics.runningCalls.Inc()
	e.waitingCalls = append(e.waitingCalls, c)
	wait.Wake(e.callArrived)
	return nil
}

// removeCall makes room for another call of Fetch.
func (e *Engine) removeCall() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callCount--
	e.resources.metrics.runningCalls.Dec()
}

// joinWaiting puts the waiting calls into a cycle, or ends them if that fails. It returns false when the running cycle
// no longer accepts callers, so that they keep waiting.
func (e *Engine) joinWaiting(ctx context.Context) (done bool) {
	e.resources.joiningLock.Lock()
	defer e.resources.joiningLock.Unlock()
	calls := e.takeWaiting()
	if len(calls) == 0 {
		return true
	}
	c, joined, err := e.joinCycle(ctx, idsOf(calls))
	switch {
	case err != nil:
		e.resources.options.Log.LogAttrs(ctx, slog.LevelWarn, "calls of FetchMatches could not join a cycle",
			slog.Int("calls", len(calls)), slog.Any("error", err))
		for _, c := range calls {
			c.end(publicError(err))
		}
		return true
	case joined:
		e.assignCalls(ctx, c, calls)
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// These calls are older than those that came meanwhile.
	e.waitingCalls = append(calls, e.waitingCalls...)
	return false
}

func (e *Engine) joinCycle(ctx context.Context, ids []uuid.UUID) (c db.Cycle, joined bool, err error) {
	o := e.resources.options
	phases := db.NewCycle{RegistrationTime: o.Registration, CollectionTime: o.Collection, LeaseTTL: o.Lease}
	err = e.resources.doInStep(ctx, "cycles", func(ctx context.Context) (err error) {
		c, joined, err = o.Store.JoinCycle(ctx, o.Universe, o.Replica, ids, phases)
		return err
	})
	return c, joined, err
}

// takeWaiting takes the waiting calls, drops those whose caller has left, and gives each of the others a new id: an
// earlier attempt whose answer was lost may have used the previous one.
func (e *Engine) takeWaiting() (calls []*call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.waitingCalls {
		if c.ctx.Err() == nil {
			c.id = uuid.New()
			calls = append(calls, c)
		}
	}
	e.waitingCalls = nil
	return calls
}

// assignCalls gives calls that have joined a cycle to this replica's round of it, and starts the round if there is none
// yet.
func (e *Engine) assignCalls(ctx context.Context, c db.Cycle, calls []*call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.roundByID[c.ID]
	if r != nil {
		r.addCalls(calls)
		return
	}
	r = newRound(e.resources, c)
	e.roundByID[c.ID] = r
	r.addCalls(calls) // before it runs: a round without calls ends
	e.resources.goroutines.Go(func() { e.runRound(ctx, r, c) })
}

// runRound takes part in a cycle until it has ended for the calls of this replica, and ends these.
func (e *Engine) runRound(ctx context.Context, r *round, c db.Cycle) {
	err := r.takePartGuarded(ctx, c)
	if err == nil {
		e.resources.awaitJoining()
	}
	// The round leaves the map before its calls end: a call that is assigned from now on begins a round of its own.
	e.mu.Lock()
	delete(e.roundByID, r.cycleRef.ID)
	e.mu.Unlock()
	r.endCalls(err)
	if err != nil && ctx.Err() == nil {
		e.resources.options.Log.LogAttrs(ctx, slog.LevelWarn, "a cycle ended early on this replica",
			slog.String("cycle", r.cycleRef.ID.String()), slog.Any("error", err))
	}
}

// close ends the waiting calls and refuses new ones.
func (e *Engine) close() {
	e.mu.Lock()
	e.isClosed = true
	e.mu.Unlock()
	for _, c := range e.takeWaiting() {
		c.end(unavailableError("this replica is stopping"))
	}
}

// Fetch takes part in the next cycle and returns when that has ended for this caller. Errors: ctx's; the error of
// Deliver; [*Error]; a *fault.Error of kind Unavailable when the cycle could not be run and nothing was delivered.
func (e *Engine) Fetch(ctx context.Context, caller Caller) error {
	c := newCall(ctx, e.resources, caller)
	if err := e.enqueueCall(c); err != nil {
		c.cancel()
		return err
	}
	defer e.removeCall()
	defer c.leave() // deferred last, so that it comes first: until the match function has ended, the call counts
	return c.deliverMatches()
}
