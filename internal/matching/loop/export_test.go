package loop

import "time"

// Unhurried makes a loop decide about each ticket at the moment that is due, as a replay does, however late it is and
// however long a turn lasts. Call it before Run.
func (l *Loop) Unhurried() { l.turnTime, l.maxLate = time.Minute, time.Minute }

// ReconcileEvery makes a loop compare its queue with the database more often than once a minute. Call it before Run.
func (l *Loop) ReconcileEvery(pause time.Duration) { l.compareEvery = pause }
