package fault

import "time"

// When a party that found no capacity should ask again. Where the pool is paused for less than retryFull, it is when
// the pause ends.
const (
	retryStarting = 2 * time.Second  // servers start, or are about to
	retryFull     = 10 * time.Second // the pool may not start any
)

// Outlook is what a party that waits can expect of the pool of its mode.
type Outlook struct {
	Region, Mode string
	Starting     int  // servers of the pool that start now, as of its last plan
	IsFull       bool // the pool has as many servers as it may have, with those that drain or end

	// PausedUntil is when the pool starts servers again, by this replica's clock and to the second; zero: it starts
	// them now. Without an operator the cause is its provider, which had no capacity, or failures of its servers.
	PausedUntil      time.Time
	PausedByOperator bool
}

// retryAfter returns when a party that found no capacity should ask again.
func (o *Outlook) retryAfter() time.Duration {
	switch {
	case !o.PausedUntil.IsZero():
		return min(max(time.Until(o.PausedUntil), retryStarting), retryFull)
	case o.IsFull && o.Starting == 0:
		return retryFull
	default:
		return retryStarting
	}
}
