package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// caller takes turns: it asks, waits for the answer, and asks again.
type caller struct {
	*run

	n        int
	url      string
	dice     *rand.Rand    // for what players wish: nobody needs to be unable to guess it
	counts   bool          // what it does now is measured
	due      time.Time     // when the next call of this turn should have begun; zero: when it does
	spent    time.Duration // in the calls of this turn
	reserved []seat        // the oldest first
}

func (r *run) caller(n int) *caller {
	return &caller{run: r, n: n, url: r.URLs[n%len(r.URLs)], dice: rand.New(rand.NewPCG(uint64(n), 0))}
}

// loop takes turns until the period is over. What has begun by then is finished, so that no slow answer is left out.
func (c *caller) loop(ctx context.Context, at period) {
	for c.begin(ctx, at) {
		err := c.scenario.turn(c)
		if ctx.Err() != nil {
			return // whatever went wrong, it is not the director's doing
		}
		c.record.answered.Add(1)
		if c.counts {
			c.record.whole.add(c.spent, err)
		}
		if err != nil && c.schedule == nil && c.Turns == 0 {
			rest(ctx, afterFailure)
		}
	}
}

// afterFailure is a breath: a director that fails at once is not asked as fast as the machine can, without an end.
const afterFailure = 10 * time.Millisecond

// begin waits for the next turn, false when there is none.
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

// timed measures a call as a step of the scenario. The first of a turn counts from when it was due.
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

// unmeasured is for what has to be done in between.
func (c *caller) unmeasured(do func() error) error {
	begun := time.Now()
	err := do()
	if !c.due.IsZero() {
		c.due = c.due.Add(time.Since(begun))
	}
	return err
}

// kinded is a failure that knows what to be counted by.
type kinded interface {
	error
	Kind() string
}

// kindOf names a failure for counting.
func kindOf(err error) string {
	if f, ok := errors.AsType[kinded](err); ok {
		return f.Kind()
	}
	return "not sent"
}
