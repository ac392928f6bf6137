package loop

import "time"

const (
	tick         = time.Second // between two looks at what notifications should have reported
	lookInterval = 250 * time.Millisecond
	compareEvery = time.Minute
	// leftoverPause is the sleep before work that was due before a step and that the step has left undone: another step
	// at once would leave the work again, and the loop would take a whole CPU.
	leftoverPause = 20 * time.Millisecond
)

// timers say when each kind of periodic work is due.
type timers struct {
	timer *time.Timer // ends a sleep
	dueAt [periodicKinds]time.Time
	every [periodicKinds]time.Duration
}

// periodic is a kind of periodic work.
type periodic int

const (
	lookAt        periodic = iota // looks at the owners of profiles
	tickAt                        // looks at servers and matches that wait
	checkAt                       // looks at ready checks
	compareAt                     // compares the whole queue
	periodicKinds                 // the number of kinds
)

func newTimers(compareEvery time.Duration) *timers {
	t := &timers{timer: time.NewTimer(0),
		every: [...]time.Duration{lookAt: lookInterval, tickAt: tick, checkAt: tick, compareAt: compareEvery}}
	// The other kinds are due at once. The whole queue is read at the beginning and need not be compared then.
	t.dueAt[compareAt] = time.Now().Add(compareEvery)
	return t
}

// beginIfDue reports whether work is due, and if so makes it due again after its interval.
func (t *timers) beginIfDue(p periodic) bool {
	now := time.Now()
	if now.Before(t.dueAt[p]) {
		return false
	}
	t.dueAt[p] = now.Add(t.every[p])
	return true
}

// postpone makes work due after d.
func (t *timers) postpone(p periodic, d time.Duration) { t.dueAt[p] = time.Now().Add(d) }

func (t *timers) makeDue(p periodic) { t.dueAt[p] = time.Time{} }

// endOfSleep returns when work that is due at dueAt ends the sleep after a step that began at stepAt.
func endOfSleep(dueAt, stepAt time.Time) time.Time {
	if dueAt.After(stepAt) {
		return dueAt
	}
	return time.Now().Add(leftoverPause)
}

// setTimer sets the timer to the next periodic work, or to a decision that is due before; zero: none is. stepAt is when
// the last step began.
func (t *timers) setTimer(decision, stepAt time.Time) {
	next := endOfSleep(t.dueAt[0], stepAt)
	for _, dueAt := range t.dueAt[1:] {
		if at := endOfSleep(dueAt, stepAt); at.Before(next) {
			next = at
		}
	}
	if !decision.IsZero() && decision.Before(next) {
		next = decision
	}
	t.timer.Reset(max(0, time.Until(next)))
}

func (t *timers) stopTimer() { t.timer.Stop() }
