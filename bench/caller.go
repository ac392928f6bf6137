package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// caller takes one turn after the other, and waits for each answer.
type caller struct {
	*run

	n        int
	url      string
	rng      *rand.Rand    // draws regions and modes
	counts   bool          // the current turn is measured
	due      time.Time     // of the next call of this turn; zero in a closed loop and after the turn's first call
	spent    time.Duration // in the calls of this turn
	reserved []seat        // oldest first
}

func (r *run) caller(n int) *caller {
	return &caller{run: r, n: n, url: r.URLs[n%len(r.URLs)], rng: rand.New(rand.NewPCG(uint64(n), 0))}
}

// loop takes turns until the period is over. It finishes the turn that it has begun, so that slow answers are measured.
func (c *caller) loop(ctx context.Context, at period) {
	for c.begin(ctx, at) {
		err := c.scenario.turn(c)
		if ctx.Err() != nil {
			return // the error may come from the cancelled context
		}
		c.record.answered.Add(1)
		if c.counts {
			c.record.whole.add(c.spent, err)
			c.record.endTurn(time.Since(at.from))
		}
		if err != nil && c.schedule == nil && c.Turns == 0 {
			pause(ctx, failurePause)
		}
	}
}

// failurePause keeps callers from repeating calls that fail at once as fast as the machine can.
const failurePause = 10 * time.Millisecond

// begin waits for the next turn, and returns false when there is none.
func (c *caller) begin(ctx context.Context, at period) bool {
	c.spent, c.due = 0, time.Time{}
	if c.schedule != nil {
		var ok bool
		c.due, ok = c.schedule.take(ctx, at)
		c.counts = !c.due.Before(at.from)
		return ok
	}
	if c.Turns > 0 && c.turns.Add(1) > int64(c.Turns) {
		return false
	}
	now := time.Now()
	c.counts = !now.Before(at.from)
	return now.Before(at.until) && ctx.Err() == nil
}

// timed measures a call as a step of the scenario. The latency of a turn's first call counts from when the turn was
// due.
func (c *caller) timed(step string, call func() error) error {
	start := time.Now()
	if !c.due.IsZero() {
		start, c.due = c.due, time.Time{}
	}
	err := call()
	took := time.Since(start)
	c.spent += took
	if c.counts && c.client.ctx.Err() == nil {
		c.record.step(step).add(took, err)
	}
	return err
}

// unmeasured does work between calls, whose time is not measured.
func (c *caller) unmeasured(do func() error) error {
	start := time.Now()
	err := do()
	if !c.due.IsZero() {
		c.due = c.due.Add(time.Since(start))
	}
	return err
}

// kinded is a failure that names its kind.
type kinded interface {
	error
	Kind() string
}

// WithKind is an error that is counted under a kind.
func WithKind(kind string, err error) error { return countedError{kind, err} }

type countedError struct {
	kind string
	err  error
}

func (e countedError) Error() string { return e.kind + ": " + e.err.Error() }

// Kind is what failures are counted under.
func (e countedError) Kind() string { return e.kind }

// Unwrap supports errors.Is.
func (e countedError) Unwrap() error { return e.err }

// KindOf returns the kind that a failure is counted under.
func KindOf(err error) string {
	if f, ok := errors.AsType[kinded](err); ok {
		return f.Kind()
	}
	return "not sent"
}
