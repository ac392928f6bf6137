// Package follow is the loop of everything that follows a feed of the database: it reads when a notification or a
// caller wakes it, and now and then without one, because notifications can be lost. Reading takes at most half of the
// time at any rate of wake-ups, a panic costs one reading, and an outage is two lines of the log.
package follow

import (
	"context"
	"time"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

// Wakes are the channels that start a run early, such as those of db.Store.Subscribe and those that [wait.Wake] sends
// on. nil never does.
type Wakes [3]<-chan struct{}

// Loop calls Do again and again. Do and Every are required.
type Loop struct {
	Name string // of the goroutine, for Guard
	// Do reads what is new. inFull says that no wake-up is the reason: it is the first run, or Every has passed, and
	// wake-ups may have been lost.
	Do func(ctx context.Context, inFull bool) error

	Every   time.Duration // from one run in full to the next
	Retry   time.Duration // from a failed run to the next, which is in full; 0: a failed run changes nothing
	Timeout time.Duration // of a run; 0: none
	Wakes   Wakes

	// Pause returns the pause after a run, from the time it took. Wake-ups do not shorten it. nil: [Half].
	Pause func(took time.Duration) time.Duration
	// Until returns the time until the next run, after a run; nil: what is left of Every.
	Until func() time.Duration

	Guard  *panics.Guard                        // recovers panics of Do; may be nil
	Report func(ctx context.Context, err error) // gets the outcome of each run, for the log of outages; may be nil
}

// Half is the pause after which runs take at most half of the time.
func Half(took time.Duration) time.Duration { return took }

// AtLeast is [Half], with a shortest pause: many replicas may notify at once.
func AtLeast(shortest time.Duration) func(took time.Duration) time.Duration {
	return func(took time.Duration) time.Duration { return max(took, shortest) }
}

// Run runs the loop until ctx ends, first at once.
func (l Loop) Run(ctx context.Context) {
	pause := l.Pause
	if pause == nil {
		pause = Half
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	inFull, due := true, time.Time{}
	for ctx.Err() == nil {
		began := time.Now()
		if inFull {
			// Counted from the last run in full: wake-ups do not put the next one off.
			due = began.Add(l.Every)
		}
		err := l.runOnce(ctx, inFull)
		switch {
		case err != nil && l.Retry > 0:
			due = time.Now().Add(l.Retry)
		case l.Until != nil:
			due = time.Now().Add(l.Until())
		}
		if !wait.For(ctx, pause(time.Since(began))) {
			return
		}
		timer.Reset(time.Until(due))
		inFull = l.awaitWake(ctx, timer.C)
	}
}

func (l Loop) runOnce(ctx context.Context, inFull bool) error {
	call := ctx
	if l.Timeout > 0 {
		var cancel context.CancelFunc
		call, cancel = context.WithTimeout(ctx, l.Timeout)
		defer cancel()
	}
	err := l.Guard.Do(l.Name, func() error { return l.Do(call, inFull) })
	// With ctx and not the call's context: a run that has timed out is an outage.
	if l.Report != nil {
		l.Report(ctx, err)
	}
	return err
}

// awaitWake waits for a wake-up, or until a run in full is due, which it reports.
func (l Loop) awaitWake(ctx context.Context, due <-chan time.Time) (inFull bool) {
	select {
	case <-due: // checked first, so that continuous wake-ups do not delay it
		return true
	default:
	}
	select {
	case <-due:
		return true
	case <-l.Wakes[0]:
	case <-l.Wakes[1]:
	case <-l.Wakes[2]:
	case <-ctx.Done():
	}
	return false
}
