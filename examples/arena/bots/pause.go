package bots

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// newPauses returns pauses that grow from 0.2 to 2 seconds: until the lease of a dead server expires, the director
// still sends its players there, and connecting fails at once.
func newPauses() *backoff.ExponentialBackOff {
	p := backoff.NewExponentialBackOff()
	p.InitialInterval, p.MaxInterval = 200*time.Millisecond, 2*time.Second
	return p
}

// pauseFor waits for d, or until ctx ends: the loops of its callers look at ctx themselves.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
