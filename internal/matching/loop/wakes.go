package loop

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// sleepUntilDue waits until something may be due, after a step that began at stepAt, and notes what has ended the wait.
func (l *Loop) sleepUntilDue(ctx context.Context, w *wakes, t *timers, stepAt time.Time) {
	if l.mustReadOn() {
		w.notePending(l)
		return
	}
	t.setTimer(l.nextDecision(stepAt), stepAt)
	select {
	case <-ctx.Done():
	case <-t.timer.C:
	case <-l.turns.turnEnded:
	case <-w.queueWake:
		l.queueChanged = true
	case <-w.settledWake:
		l.queueChanged = true
	case <-w.profilesWake:
		t.makeDue(lookAt)
	case <-w.capacityWake:
		t.makeDue(tickAt)
	case <-w.matchesWake:
		t.makeDue(checkAt)
	// An outcome or a call that ends the wait has left its channel, so it is kept for the next step.
	case o := <-l.commits.outcomeQueue:
		l.commits.returnedOutcomes = append(l.commits.returnedOutcomes, o)
	case c := <-l.calls.resultQueue:
		l.calls.returnedCalls = append(l.calls.returnedCalls, c)
	}
}

// mustReadOn reports whether a step has something to read at once.
func (l *Loop) mustReadOn() bool {
	return len(l.profilesToTake) > 0 || l.hasProfiles && !l.queue.isFullyRead || !l.queue.comparison.beganAt.IsZero()
}

// wakes are the notifications that end a sleep.
type wakes struct {
	queueWake, settledWake, profilesWake, capacityWake, matchesWake <-chan struct{}
	stopFuncs                                                       []func()
}

// subscribeTopics subscribes to all topics of wakes. The caller calls stopAll.
func (l *Loop) subscribeTopics() *wakes {
	w := &wakes{}
	subscribe := func(topic, region string) <-chan struct{} {
		wake, stop := l.options.Store.Subscribe(topic, region)
		w.stopFuncs = append(w.stopFuncs, stop)
		return wake
	}
	universe := l.options.Universe
	w.queueWake, w.settledWake = subscribe(db.TopicQueue, universe), subscribe(db.TopicTickets, universe)
	w.profilesWake, w.matchesWake = subscribe(db.TopicProfiles, universe), subscribe(db.TopicMatches, universe)
	w.capacityWake = subscribe(db.TopicCapacity, "")
	return w
}

func (w *wakes) stopAll() {
	for _, stop := range w.stopFuncs {
		stop()
	}
}

// notePending notes a notification about the queue without waiting for one. The other channels keep their signals until
// the next sleep.
func (w *wakes) notePending(l *Loop) {
	select {
	case <-w.queueWake:
		l.queueChanged = true
	case <-w.settledWake:
		l.queueChanged = true
	default:
	}
}
