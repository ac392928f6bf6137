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
	state   *pauseState
}

// pauseState is what the copies of a class share.
type pauseState struct {
	mu sync.Mutex // also held while a turn is reserved, and given back at once

	pausedUntil time.Time
}

// newClass allows a burst of the calls of a quarter of a second, so that no second exceeds the published limit.
func newClass(perSecond float64) class {
	return class{rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/4))), &pauseState{}}
}

// awaitTurn returns as soon as the limit allows a call. During a pause, or if the limit allows the call only after the
// context's deadline, it returns RateLimited at once, and so does a call that waits when a pause begins. Errors:
// RateLimited, or Transient if ctx has ended.
func (c class) awaitTurn(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return provider.Fail(provider.Transient, op, err)
	}
	if err := c.checkPause(op); err != nil {
		return err
	}
	turn, delay, err := c.reserveTurn(ctx, op)
	if err != nil {
		return err
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return c.checkPause(op)
	case <-ctx.Done():
		// Of no use to others if somebody has a later turn: the limit is not reached then, and never exceeded.
		turn.Cancel()
		return provider.Fail(provider.Transient, op, ctx.Err())
	}
}

// reserveTurn takes a turn, and returns how long it is until then. Errors: RateLimited, without a turn.
func (c class) reserveTurn(ctx context.Context, op string) (*rate.Reservation, time.Duration, error) {
	// One caller at a time: the limiter takes back only the last turn, and those of callers that give theirs back at
	// the same moment would be lost.
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	turn := c.limiter.Reserve()
	delay := turn.Delay()
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
		turn.Cancel()
		return nil, 0, limitedError(op, delay, "the rate limit allows it only after the deadline")
	}
	return turn, delay, nil
}

// beginPause stops the calls of this class after a 429 and returns for how long. A longer pause that an earlier answer
// has asked for stays.
func (c class) beginPause(after time.Duration) time.Duration {
	if after <= 0 {
		after = defaultPause
	}
	now := time.Now()
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	if until := now.Add(min(after, maxPause)); until.After(c.state.pausedUntil) {
		c.state.pausedUntil = until
	}
	return c.state.pausedUntil.Sub(now)
}

// checkPause returns RateLimited during a pause.
func (c class) checkPause(op string) error {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	if left := time.Until(c.state.pausedUntil); left > 0 {
		return limitedError(op, left, "the API has asked for a pause")
	}
	return nil
}

func limitedError(op string, retryAfter time.Duration, why string) error {
	return &provider.Error{Kind: provider.RateLimited, Op: op, RetryAfter: retryAfter, Err: errors.New(why)}
}
