package loop

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db"
)

// delayedFree frees the tickets of a dropped match of a function at a later time.
type delayedFree struct {
	tickets db.MarkedTickets
	freeAt  time.Time
}

// freeLater has freeDue return the tickets of a function's match to the queue after a pause.
func (l *Loop) freeLater(tickets db.MarkedTickets, pause time.Duration) {
	l.delayedFrees = append(l.delayedFrees, delayedFree{tickets, time.Now().Add(pause)})
}

// freeAllLater has the next freeDue return the tickets of all matches of functions to the queue.
func (l *Loop) freeAllLater() { l.freeJobsLater(func(*job) bool { return true }) }

// freeProfileLater has the next freeDue return the tickets of all matches of a profile's function to the queue.
func (l *Loop) freeProfileLater(name string) {
	l.freeJobsLater(func(j *job) bool { return j.match.Profile == name })
}

// freeJobsLater is freeAllLater for the matches of which isWanted is true.
func (l *Loop) freeJobsLater(isWanted func(*job) bool) {
	for _, j := range l.allJobs() {
		// Matches without marks need nothing: in the database their tickets are free.
		if m := j.markedTickets(); m != nil && isWanted(j) {
			l.freeLater(*m, noPause)
		}
	}
}

// freeDue returns the tickets whose pause is over to the queue. If that fails, they become free when their marks expire.
func (l *Loop) freeDue(ctx context.Context) {
	now := time.Now()
	var due []db.MarkedTickets
	var rest []delayedFree
	for _, f := range l.delayedFrees {
		if f.freeAt.After(now) {
			rest = append(rest, f)
		} else {
			due = append(due, f.tickets)
		}
	}
	l.delayedFrees = rest
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := l.options.Store.FreeMarkedTickets(ctx, l.options.Universe, due); err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn,
			"tickets of matches could not be freed: they wait until their marks expire",
			slog.Any("error", err))
	}
}

// maxWaitOf returns how long a match of these tickets may wait for a server: at most half of the time until their marks
// expire.
func (l *Loop) maxWaitOf(tickets []string) time.Duration {
	limit, now := waitAtMost, l.options.Store.Now()
	for _, id := range tickets {
		if e := l.queue.entryByID[id]; e != nil {
			limit = min(limit, e.pendingUntil.Sub(now)/2)
		}
	}
	return limit
}

// abandonedFor is how long after a takeover a cycle may still accept proposals of the former owner: until the cycle
// notices, within its lease of 2 seconds, that its caller is gone.
const abandonedFor = 5 * time.Second

// freeAbandoned returns the tickets of matches that functions proposed to former owners, which cannot commit them any
// more: when a profile is taken over, and again once no cycle can accept such a match.
func (l *Loop) freeAbandoned(ctx context.Context) error {
	epochs := map[string]int64{}
	for name, p := range l.profiles {
		if len(p.freeTimes) > 0 && !time.Now().Before(p.freeTimes[0]) {
			epochs[name] = p.ownerEpoch
		}
	}
	if len(epochs) == 0 {
		return nil
	}
	freed := 0
	err := callDatabase(ctx, "freeing tickets of former owners", func(ctx context.Context) (err error) {
		freed, err = l.options.Store.FreeAbandonedTickets(ctx, l.options.Universe, epochs)
		return err
	})
	if err != nil {
		return err
	}
	// Only now: after an error the next look frees them.
	for name := range epochs {
		p := l.profiles[name]
		p.freeTimes = p.freeTimes[1:]
	}
	if freed > 0 {
		l.options.Log.LogAttrs(ctx, slog.LevelInfo, "tickets of a former owner are free", slog.Int("tickets", freed))
	}
	return nil
}
