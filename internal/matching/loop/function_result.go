package loop

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/match"
)

// takeCalls handles the calls of functions that ended.
func (l *Loop) takeCalls(ctx context.Context) error {
	all := slices.Concat(l.calls.returned, l.calls.delivered())
	l.calls.returned = nil
	for _, c := range all {
		l.calls.running--
		if err := l.takeCall(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// takeCall finds servers for the accepted matches of a call. If another worker or another version now decides for the profile,
// it returns their tickets to the queue.
func (l *Loop) takeCall(ctx context.Context, c *functionCall) error {
	l.reportCall(ctx, c)
	p := l.profiles[c.of]
	if p == nil || p.function != c.function {
		for _, m := range c.marked() {
			l.free(m, 0)
		}
		return nil
	}
	p.function.end(l.moment(), c.err != nil)
	if err := l.readMarked(ctx, c); err != nil {
		return err
	}
	for _, m := range c.accepted {
		l.accepted(ctx, p, m, c.teams[m.ID])
	}
	return nil
}

// readMarked reads the tickets of accepted matches, which are no longer candidates of other profiles.
func (l *Loop) readMarked(ctx context.Context, c *functionCall) error {
	var ids []string
	for _, m := range c.accepted {
		ids = append(ids, m.Tickets...)
	}
	for page := range slices.Chunk(ids, refreshPage) {
		if err := l.queue.refresh(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// accepted completes a match of a function, and finds it a server.
func (l *Loop) accepted(ctx context.Context, p *owned, m cycle.Accepted, teams map[string]string) {
	marked := db.MarkedTickets{IDs: m.Tickets, Mark: m.Mark}
	tickets := make([]*match.Ticket, 0, len(m.Tickets))
	for _, id := range m.Tickets {
		if e := l.queue.entries[id]; e != nil {
			if t, err := e.ticket(l.PlayerArg); err == nil {
				tickets = append(tickets, t)
			}
		}
	}
	if len(tickets) < len(m.Tickets) {
		l.metrics.dropped.WithLabelValues("gone").Inc()
		l.free(marked, 0)
		return
	}
	l.proposed(ctx, p, decided{Proposal: p.function.rest.Proposal(tickets, teams, p.function.regions), at: l.moment()}, &marked)
}

// reportCall counts a call. It logs a failure that differs from the last one, and the first success after failures.
func (l *Loop) reportCall(ctx context.Context, c *functionCall) {
	result, failure := "ok", ""
	if c.err != nil {
		result, failure = "failed", c.err.Error()
	}
	l.metrics.functionCalls.WithLabelValues(c.of, result).Inc()
	for why, n := range c.refused {
		l.metrics.functionRefused.WithLabelValues(why).Add(float64(n))
	}
	about := slog.String("profile", c.of)
	if len(c.refused) > 0 {
		l.Log.LogAttrs(ctx, slog.LevelWarn, "a match function proposes matches that cannot be committed", about, slog.Any("matches", c.refused))
	}
	if last := c.function.failure; failure != last {
		c.function.failure = failure
		if failure == "" {
			l.Log.LogAttrs(ctx, slog.LevelInfo, "the match function of a profile works again", about)
		} else {
			l.Log.LogAttrs(ctx, slog.LevelWarn, "the match function of a profile fails", about, slog.String("error", failure))
		}
	}
}

// maxWaitOf returns how long a match of these tickets may wait for a server: at most half of the time until their marks expire.
func (l *Loop) maxWaitOf(tickets []string) time.Duration {
	limit, now := waitAtMost, l.Store.Now()
	for _, id := range tickets {
		if e := l.queue.entries[id]; e != nil {
			limit = min(limit, e.pendingUntil.Sub(now)/2)
		}
	}
	return limit
}

// delayedFree frees the tickets of a dropped match of a function at a later time.
type delayedFree struct {
	db.MarkedTickets
	at time.Time
}

// dropCalls waits for the running calls, whose context has ended, and returns the tickets of their matches to the queue.
func (l *Loop) dropCalls() {
	l.calls.begun.Wait()
	for _, c := range append(l.calls.returned, l.calls.delivered()...) {
		for _, m := range c.marked() {
			l.free(m, 0)
		}
	}
	l.calls = newCalls(l.Options)
}

// free returns the tickets of a function's match to the queue after a delay.
func (l *Loop) free(tickets db.MarkedTickets, after time.Duration) {
	l.frees = append(l.frees, delayedFree{tickets, time.Now().Add(after)})
}

// freeAll returns the tickets of all matches of a profile's function to the queue; "": of all profiles.
func (l *Loop) freeAll(profile string) {
	for _, j := range append(l.commits.jobs(), l.waiting.jobs...) {
		if m := j.marked(); m != nil && (profile == "" || profile == j.match.Profile) {
			l.free(*m, 0)
		}
	}
}

// freeMarked returns the tickets that are due to the queue. If that fails, they become free when their marks expire.
func (l *Loop) freeMarked(ctx context.Context) {
	now := time.Now()
	var due []db.MarkedTickets
	var rest []delayedFree
	for _, f := range l.frees {
		if f.at.After(now) {
			rest = append(rest, f)
		} else {
			due = append(due, f.MarkedTickets)
		}
	}
	if l.frees = rest; len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := l.Store.FreeMarkedTickets(ctx, l.Universe, due); err != nil {
		l.Log.LogAttrs(ctx, slog.LevelWarn, "tickets of matches could not be freed: they wait until their marks expire", slog.Any("error", err))
	}
}

// abandonedFor is how long after a takeover a cycle may still accept proposals of the former owner: until it notices, within its lease
// of 2 seconds, that the caller is gone.
const abandonedFor = 5 * time.Second

// freeAbandoned returns the tickets of matches that functions proposed to former owners, which cannot commit them any more: when a
// profile is taken over, and again once no cycle can accept such a match.
func (l *Loop) freeAbandoned(ctx context.Context) error {
	epochs := map[string]int64{}
	for name, p := range l.profiles {
		if len(p.frees) > 0 && !time.Now().Before(p.frees[0]) {
			epochs[name], p.frees = p.epoch, p.frees[1:]
		}
	}
	if len(epochs) == 0 {
		return nil
	}
	freed := 0
	err := reading(ctx, "freeing tickets of former owners", func(ctx context.Context) (err error) {
		freed, err = l.Store.FreeAbandonedTickets(ctx, l.Universe, epochs)
		return err
	})
	if freed > 0 {
		l.Log.LogAttrs(ctx, slog.LevelInfo, "tickets of a former owner are free", slog.Int("tickets", freed))
	}
	return err
}
