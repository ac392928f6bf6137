package loop

import "time"

// Unhurried makes a loop decide about each ticket at the moment that is due, as a replay does, however late it is and however long a
// turn lasts. Call it before Run.
func (l *Loop) Unhurried() { l.turnTime, l.maxLate = time.Minute, time.Minute }

// SeenAt returns when the loop first saw each ticket that still waits, by id. Call it after Run.
func (l *Loop) SeenAt() map[string]time.Time {
	seen := map[string]time.Time{}
	for id, e := range l.queue.entries {
		seen[id] = e.seen
	}
	return seen
}
