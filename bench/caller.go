package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// caller asks, waits for the answer, and asks again.
type caller struct {
	*run

	n        int
	url      string
	players  int           // named so far
	counts   bool          // what it does now is measured
	spent    time.Duration // in the calls of this turn
	reserved []seat
}

func (r *run) caller(n int) *caller { return &caller{run: r, n: n, url: r.URLs[n%len(r.URLs)]} }

// afterFailure is a breath: a director that fails at once is not asked as fast as the machine can.
const afterFailure = 10 * time.Millisecond

// loop takes turns until the time is over. What has begun by then is finished, so that no slow answer is left out.
func (c *caller) loop(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		if !now.Before(c.until) {
			return
		}
		c.counts, c.spent = !now.Before(c.from), 0
		err := scenarios[c.Scenario](c, ctx)
		if ctx.Err() != nil {
			return // whatever went wrong, it is not the director's doing
		}
		if c.counts {
			c.record.whole.add(c.spent, err)
		}
		if err != nil {
			breathe(ctx)
		}
	}
}

func breathe(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(afterFailure):
	}
}

// timed measures a call as a step of the scenario.
func (c *caller) timed(ctx context.Context, step string, call func() error) error {
	start := time.Now()
	err := call()
	took := time.Since(start)
	c.spent += took
	if c.counts && ctx.Err() == nil {
		c.record.step(step).add(took, err)
	}
	return err
}

// kindOf names a failure for counting.
func kindOf(err error) string {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.kind()
	}
	return "not sent"
}

// player is somebody who has never called before: limits per player are not what is measured.
func (c *caller) player() string {
	c.players++
	return fmt.Sprintf("bench-%s-%d-%d", c.id, c.n, c.players)
}
