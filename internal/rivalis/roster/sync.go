package roster

import "time"

// syncWithin is the longest time that a Sync waits for the events of its change.
const syncWithin = 250 * time.Millisecond

// syncing decides when a Sync is due. It is pure.
type syncing struct {
	sent  uint64    // the state hash of the last Sync
	owed  bool      // events that change the fleet were sent, and no Sync after them
	since time.Time // when the pending Sync began to wait; zero: none is pending
}

// isDue reports whether a Sync with a state hash must be sent now. complete means that all events of the hashed state
// were read, and that the hashed state includes the changes of all events that were sent.
func (s *syncing) isDue(hash uint64, complete bool, now time.Time) bool {
	if hash == s.sent && !s.owed {
		s.since = time.Time{}
		return false
	}
	if s.since.IsZero() {
		s.since = now
	}
	if !complete && now.Sub(s.since) < syncWithin {
		return false
	}
	*s = syncing{sent: hash}
	return true
}
