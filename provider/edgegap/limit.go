package edgegap

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/lattice-director/director/provider"
)

// Bounds of the pause after a 429.
const (
	defaultPause = 5 * time.Second // where the answer does not say how long
	maxPause     = 5 * time.Minute
)

// class is a rate limit and the state of the calls that share it.
type class struct {
	limiter *rate.Limiter
	state   *pausing
}

// pausing is behind a pointer, since classes are copied.
type pausing struct {
	mu sync.Mutex

	pausedUntil time.Time
}

// newClass allows a burst of the calls of a quarter of a second, so that no second exceeds the published limit.
func newClass(perSecond float64) class {
	return class{rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/4))), &pausing{}}
}

// awaitTurn returns as soon as the limit allows a call. During a pause, or if the limit allows the call only after the
// context's deadline, it returns RateLimited at once. Errors: RateLimited, or Transient if ctx has ended.
func (c class) awaitTurn(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return provider.Fail(provider.Transient, op, err)
	}
	if left := c.pauseLeft(); left > 0 {
		return &provider.Error{Kind: provider.RateLimited, Op: op, RetryAfter: left,
			Err: errors.New("the API has asked for a pause")}
	}
	turn := c.limiter.Reserve()
	delay := turn.Delay()
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
		// The turn is free for others: RetryAfter tells this caller when to call again.
		turn.Cancel()
		return &provider.Error{Kind: provider.RateLimited, Op: op, RetryAfter: delay,
			Err: errors.New("the rate limit allows it only after the deadline")}
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return provider.Fail(provider.Transient, op, ctx.Err())
	}
}

// beginPause stops the calls of this class after a 429 and returns for how long.
func (c class) beginPause(after time.Duration) time.Duration {
	if after <= 0 {
		after = defaultPause
	}
	after = min(after, maxPause)
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	// An earlier answer may have asked for a longer pause.
	if until := time.Now().Add(after); until.After(c.state.pausedUntil) {
		c.state.pausedUntil = until
	}
	return after
}

func (c class) pauseLeft() time.Duration {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return time.Until(c.state.pausedUntil)
}
