package cycle

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// knock is how often callers who wait for a cycle to end look whether it has, when nobody tells them.
const knock = 100 * time.Millisecond

// Run puts callers into cycles and runs these until ctx ends. Then it ends all callers as Unavailable, leaves cycles that
// it runs to other replicas, and returns nil. Call it once.
func (e *Engine) Run(ctx context.Context) error {
	news, stop := e.Store.Subscribe(db.TopicCycle, e.Region)
	defer stop()
	defer e.running.Wait()
	defer e.shut()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		if e.enter(ctx) {
			select {
			case <-e.arrived:
			case <-ctx.Done():
			}
			continue
		}
		timer.Reset(knock)
		select {
		case <-news:
		case <-e.again:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// wait lets a call wait for the next cycle.
func (e *Engine) wait(c *call) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return unavailable("this replica is stopping")
	case e.calls >= maxCalls:
		return unavailable("too many calls are waiting for matches")
	}
	e.calls++
	e.metrics.waiting.Inc()
	c.counted = true
	e.waiting = append(e.waiting, c)
	ring(e.arrived)
	return nil
}

// forget lets a call's place go.
func (e *Engine) forget(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.counted {
		e.calls--
		e.metrics.waiting.Dec()
		c.counted = false
	}
}

// enter puts those who wait into a cycle. done is false when they have to try again.
func (e *Engine) enter(ctx context.Context) (done bool) {
	e.entering.Lock()
	defer e.entering.Unlock()
	calls, ids := e.takeWaiting()
	if len(calls) == 0 {
		return true
	}
	c, in, err := e.enterCycle(ctx, ids)
	switch {
	case err != nil:
		e.Log.LogAttrs(ctx, slog.LevelWarn, "callers find no cycle", slog.Int("callers", len(calls)), slog.Any("error", err))
		for _, c := range calls {
			c.end(public(err))
		}
		return true
	case in:
		e.hand(ctx, c, calls)
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(calls, e.waiting...)
	return false
}

// awaitDoor returns when those who have entered a cycle until now are in its round.
func (e *Engine) awaitDoor() {
	e.entering.Lock()
	e.entering.Unlock() //nolint:gocritic,staticcheck // waiting is all that is wanted
}

func (e *Engine) enterCycle(ctx context.Context, ids []uuid.UUID) (c db.Cycle, in bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = e.Guard.Do("cycles", func() error {
		var err error
		c, in, err = e.Store.EnterCycle(ctx, e.Region, e.Replica, ids, db.NewCycle{Registration: e.Registration, Collection: e.Collection, Lease: e.Lease})
		return err
	})
	return c, in, err
}

// takeWaiting takes those who wait, each with a new id: nobody knows whether one was used that was tried before.
func (e *Engine) takeWaiting() (calls []*call, ids []uuid.UUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.waiting {
		if c.ctx.Err() == nil {
			c.id = uuid.New()
			calls, ids = append(calls, c), append(ids, c.id)
		}
	}
	e.waiting = nil
	return calls, ids
}

// hand gives calls that are in a cycle to this replica's round of it, and starts the round where there is none.
func (e *Engine) hand(ctx context.Context, c db.Cycle, calls []*call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.rounds[c.ID]; r != nil {
		r.attach(calls)
		return
	}
	r := newRound(e, c)
	e.rounds[c.ID] = r
	r.attach(calls)
	e.running.Go(func() { r.run(ctx, c) })
}

// shut ends those who wait, and lets nobody in any more.
func (e *Engine) shut() {
	e.mu.Lock()
	e.closed = true
	waiting := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	for _, c := range waiting {
		c.end(unavailable("this replica is stopping"))
	}
}
