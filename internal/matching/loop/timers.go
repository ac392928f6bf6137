package loop

import "time"

const (
	tick           = time.Second // between two looks at what notifications should have reported
	lookInterval   = 250 * time.Millisecond
	reconcileEvery = time.Minute
	// leftoverPause is how long what a step has left undone, although it was due before the step, ends no sleep: another step
	// at once would leave it again, and the loop would take a whole CPU.
	leftoverPause = 20 * time.Millisecond
)

// timers say when each kind of periodic work is due.
type timers struct {
	timer *time.Timer
	dueAt [4]time.Time
	every [4]time.Duration
}

type periodic int

const (
	lookAt      periodic = iota // at the owners of profiles
	tickAt                      // at servers and matches that wait
	checkAt                     // at ready checks
	reconcileAt                 // at the whole queue
)

func newTimers(reconcileEvery time.Duration) *timers {
	// All that gets no time below is due at once.
	t := &timers{timer: time.NewTimer(0),
		every: [...]time.Duration{lookAt: lookInterval, tickAt: tick, checkAt: tick, reconcileAt: reconcileEvery}}
	t.dueAt[reconcileAt] = time.Now().Add(reconcileEvery) // the queue was just read
	return t
}

// beginIfDue reports whether the work is due, and sets its next time.
func (t *timers) beginIfDue(p periodic) bool {
	now := time.Now()
	if now.Before(t.dueAt[p]) {
		return false
	}
	t.dueAt[p] = now.Add(t.every[p])
	return true
}

// postpone makes the work due after d.
func (t *timers) postpone(p periodic, d time.Duration) { t.dueAt[p] = time.Now().Add(d) }

func (t *timers) makeDue(p periodic) { t.dueAt[p] = time.Time{} }

// endOfSleep returns when what is due at a time is to end a sleep after a step that began at stepAt.
func endOfSleep(dueAt, stepAt time.Time) time.Time {
	if dueAt.After(stepAt) {
		return dueAt
	}
	return time.Now().Add(leftoverPause)
}

// sleepUntil sets the timer to the next periodic work, or to a decision that is due before it. stepAt is when the last step
// began.
func (t *timers) sleepUntil(decision, stepAt time.Time) {
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
