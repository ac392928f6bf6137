package loop

import "time"

const (
	tick           = time.Second // between two looks at what notifications should have reported
	lookInterval   = 250 * time.Millisecond
	reconcileEvery = time.Minute
)

// timers say when each kind of periodic work is due.
type timers struct {
	timer *time.Timer
	dueAt [4]time.Time
}

type periodic int

const (
	lookAt      periodic = iota // at the owners of profiles
	tickAt                      // at servers and matches that wait
	checkAt                     // at ready checks
	reconcileAt                 // at the whole queue
)

var every = [...]time.Duration{lookAt: lookInterval, tickAt: tick, checkAt: tick, reconcileAt: reconcileEvery}

func newTimers() *timers {
	// All that gets no time below is due at once.
	t := &timers{timer: time.NewTimer(0)}
	t.dueAt[reconcileAt] = time.Now().Add(reconcileEvery) // the queue was just read
	return t
}

// beginIfDue reports whether the work is due, and sets its next time.
func (t *timers) beginIfDue(p periodic) bool {
	now := time.Now()
	if now.Before(t.dueAt[p]) {
		return false
	}
	t.dueAt[p] = now.Add(every[p])
	return true
}

func (t *timers) makeDue(p periodic) { t.dueAt[p] = time.Time{} }

// sleepUntil sets the timer to the next periodic work, or to a decision that is due before it.
func (t *timers) sleepUntil(decision time.Time) {
	next := t.dueAt[0]
	for _, at := range t.dueAt[1:] {
		if at.Before(next) {
			next = at
		}
	}
	if !decision.IsZero() && decision.Before(next) {
		next = decision
	}
	t.timer.Reset(max(0, time.Until(next)))
}

func (t *timers) stopTimer() { t.timer.Stop() }
