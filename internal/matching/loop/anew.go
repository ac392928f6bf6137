package loop

import (
	"context"
	"errors"
	"log/slog"
)

// beginAnew forgets, after an error of runUntilError, what is not valid any more. After a reading that failed, or a
// lease that was lost, what this worker knows stays valid: the next look says which profiles are still its own.
// Otherwise it forgets everything.
func (l *Loop) beginAnew(ctx context.Context, err error) {
	why := anewReason(err)
	l.metrics.beginningsAnew.WithLabelValues(why).Inc()
	l.options.Log.LogAttrs(ctx, slog.LevelWarn, "the director loop begins anew", slog.String("why", why),
		slog.Any("error", err), slog.Int("profiles", len(l.profiles)))
	if why == anewReading || why == anewLease {
		l.forgetFunctions()
		return
	}
	l.forgetAll()
}

// anewReason returns the value of the label why for an error of runUntilError.
func anewReason(err error) string {
	_, isReading := errors.AsType[*readingError](err)
	switch {
	case errors.Is(err, errRestarted):
		return anewRestored
	case errors.Is(err, errLeaseLost):
		return anewLease
	case isReading:
		return anewReading
	default:
		return anewFailed
	}
}

// forgetFunctions forgets only what ended with the run: the calls of match functions, and the profiles that wait for
// their results.
func (l *Loop) forgetFunctions() {
	l.dropCalls()
	for _, p := range l.profilesInOrder() {
		if p.function != nil {
			l.dropProfile(p.name)
		}
	}
}

// forgetAll forgets what was read and decided. Transactions that are under way end on their own; which matches they
// have committed, the queue shows that is read next.
func (l *Loop) forgetAll() {
	l.freeAllLater()
	l.dropCalls()
	l.turns.dropAll()
	l.turns = newTurns(l.turns.maxRunning, l.options.Guard)
	l.profiles, l.looksWithoutOwner, l.refusalsByAnchor = map[string]*ownedProfile{}, map[string]int{}, map[string]int{}
	l.profilesByName, l.profilesToTake = nil, nil
	l.emptyQueue()
	close(l.commits.abandoned)
	l.commits = newCommits(l.options.Store, l.options.Universe, l.historian)
	l.holds, l.waiting, l.hosts = nil, waitingMatches{}, hosts{}
}
