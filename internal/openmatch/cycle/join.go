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
	notified, stop := e.options.Store.Subscribe(db.TopicCycle, e.options.Region)
	defer stop()
	defer e.goroutines.Wait()
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
	e.metrics.runningCalls.Inc()
	e.waitingCalls = append(e.waitingCalls, c)
	wait.Wake(e.callArrived)
	return nil
}

// removeCall makes room for another call.
func (e *Engine) removeCall() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callCount--
	e.metrics.runningCalls.Dec()
}

// joinWaiting puts the waiting calls into a cycle. It returns false when the running cycle no longer accepts callers,
// so that they keep waiting.
func (e *Engine) joinWaiting(ctx context.Context) (done bool) {
	e.joiningLock.Lock()
	defer e.joiningLock.Unlock()
	calls := e.takeWaiting()
	if len(calls) == 0 {
		return true
	}
	c, joined, err := e.joinCycle(ctx, idsOf(calls))
	switch {
	case err != nil:
		e.options.Log.LogAttrs(ctx, slog.LevelWarn, "calls of FetchMatches could not join a cycle",
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
	// In front of the calls that came meanwhile.
	e.waitingCalls = append(calls, e.waitingCalls...)
	return false
}

// awaitJoining returns when the calls that have joined a cycle until now are in its round.
func (e *Engine) awaitJoining() {
	e.joiningLock.Lock()
	e.joiningLock.Unlock() //nolint:gocritic,staticcheck // nothing to do under the lock
}

func (e *Engine) joinCycle(ctx context.Context, ids []uuid.UUID) (c db.Cycle, joined bool, err error) {
	phases := db.NewCycle{RegistrationTime: e.options.Registration, CollectionTime: e.options.Collection,
		LeaseTTL: e.options.Lease}
	err = e.doInStep(ctx, "cycles", func(ctx context.Context) (err error) {
		c, joined, err = e.options.Store.JoinCycle(ctx, e.options.Region, e.options.Replica, ids, phases)
		return err
	})
	return c, joined, err
}

// takeWaiting takes the waiting calls and gives each a new id: an earlier attempt whose answer was lost may have used
// the previous one.
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

// assignCalls gives calls that have joined a cycle to this replica's round of it, and starts the round if there is none yet.
func (e *Engine) assignCalls(ctx context.Context, c db.Cycle, calls []*call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.roundByID[c.ID]
	if r != nil {
		r.addCalls(calls)
		return
	}
	r = newRound(e, c)
	e.roundByID[c.ID] = r
	r.addCalls(calls) // before it runs: a round without calls ends
	e.goroutines.Go(func() { r.takePartGuarded(ctx, c) })
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
