package main

import (
	"context"
	"time"
)

// awaitTrue polls until a condition holds, and returns false when ctx ends first.
func awaitTrue(ctx context.Context, holds func() bool) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	// The condition comes first: one that holds already returns true, also after the end of ctx.
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
