// Package wait holds what loops wait with: a pause that ends with its context, and wake-up channels.
package wait

import (
	"context"
	"time"
)

// For waits for d. It returns false, at once, if ctx ends earlier.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ForWake waits for d or for a wake-up, which it reports. It returns alive = false if ctx ends earlier.
func ForWake(ctx context.Context, d time.Duration, channel <-chan struct{}) (woken, alive bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, true
	case <-channel:
		return true, true
	case <-ctx.Done():
		return false, false
	}
}

// Wake sends on a wake-up channel of capacity 1 without blocking: a wake-up that is pending already stands for this
// one, too.
func Wake(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
