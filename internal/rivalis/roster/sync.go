package roster

import "time"

// syncWithin is the longest time that a Sync waits for the events of its change.
const syncWithin = 250 * time.Millisecond

// syncing decides when a Sync is due. It reads no clock and sends nothing.
type syncing struct {
	sentHash     uint64    // the state hash of the last Sync
	isOwed       bool      // events that change the fleet were sent, and no Sync after them
	pendingSince time.Time // when the pending Sync began to wait; zero: none is pending
}

// takeDue reports whether a Sync with a state hash must be sent now, and records that it is sent, or since when it
// waits. complete means that all events of the hashed state were read, and that the hashed state includes the changes of all
// events that were sent.
func (s *syncing) takeDue(hash uint64, complete bool, now time.Time) bool {
	if hash == s.sentHash && !s.isOwed {
		s.pendingSince = time.Time{}
		return false
	}
	if s.pendingSince.IsZero() {
		s.pendingSince = now
	}
	if !complete && now.Sub(s.pendingSince) < syncWithin {
		return false
	}
	*s = syncing{sentHash: hash}
	return true
}
