package rigtest

import (
	"context"
	"sync"
	"testing"
)

// Callers take turns side by side, until End is called or the test ends. Either waits for the turns that have begun.
type Callers struct {
	ctx     context.Context //nolint:containedctx // End ends the turns with it
	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewCallers returns no callers: Add starts some.
func NewCallers(t *testing.T) *Callers {
	t.Helper()
	c := &Callers{}
	// The test's own context ends before its cleanups, of which one waits for the turns.
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(c.End)
	return c
}

// Add starts n callers, numbered from 0, of which each takes one turn after the other, numbered from 0.
func (c *Callers) Add(n int, take func(ctx context.Context, caller, turn int)) {
	for caller := range n {
		c.running.Go(func() {
			for turn := 0; c.ctx.Err() == nil; turn++ {
				take(c.ctx, caller, turn)
			}
		})
	}
}

// End ends all callers. Their last turns see that their context has ended.
func (c *Callers) End() {
	c.stop()
	c.running.Wait()
}

// Context returns the context of the turns, which ends with End.
func (c *Callers) Context() context.Context { return c.ctx }
