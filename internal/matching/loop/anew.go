package loop

import (
	"context"
	"errors"
	"log/slog"
)

var (
	errRestarted = errors.New("Postgres was restarted or replaced: the queue is read again")
	errLeaseLost = errors.New("the lease could not be renewed in time: other workers may decide for the profiles")
)

// Why a loop begins anew: the label of its counter.
const (
	anewReading  = "database"
	anewLease    = "lease"
	anewRestored = "postgres_restarted"
	anewFailed   = "panic"
)

// beginAnew follows an error of run. After a reading that failed, or a lease that was lost, what this worker knows
// stays valid: the next look says which profiles are still its own. Otherwise it forgets everything.
func (l *Loop) beginAnew(ctx context.Context, err error) {
	why, failed := anewFailed, (*readingError)(nil)
	switch {
	case errors.Is(err, errRestarted):
		why = anewRestored
	case errors.Is(err, errLeaseLost):
		why = anewLease
	case errors.As(err, &failed):
		why = anewReading
	}
	l.metrics.beginningsAnew.WithLabelValues(why).Inc()
	l.options.Log.LogAttrs(ctx, slog.LevelWarn, "the director loop begins anew", slog.String("why", why),
		slog.Any("error", err), slog.Int("profiles", len(l.profiles)))
	if why == anewReading || why == anewLease {
		l.keepKnown()
		return
	}
	l.forgetAll()
}

// keepKnown drops only what ended with run: the calls of match functions, and the profiles that wait for their results.
func (l *Loop) keepKnown() {
	l.dropCalls()
	for _, p := range l.inOrder() {
		if p.function != nil {
			l.dropProfile(p.name)
		}
	}
}
