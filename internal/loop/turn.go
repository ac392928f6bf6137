package loop

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/decide"
)

const (
	// turnTime bounds how long one profile decides before the others have their turn and transactions are sent.
	turnTime = 50 * time.Millisecond
	// turnEffort is how many nodes a profile searches between two looks at the clock, some milliseconds.
	turnEffort = 16384
	// askEffort is the effort of profiles with ready checks, of which only a few may begin at a time.
	askEffort = 1024
	// maxUnderWay bounds the matches of this worker that are decided and not committed yet, of all game regions, since only the decision
	// says which region a match is for. Beyond it, deciding waits: for the length of a transaction at most, which the database bounds.
	maxUnderWay = 4096
)

// turn lets each profile that has something to search for decide for a while, in the order of names.
func (l *Loop) turn(ctx context.Context) {
	l.before(ctx, l.moment())
	l.turnShadows()
}

// before implements listener: each profile with a decision that is due by then takes a turn.
func (l *Loop) before(ctx context.Context, at time.Time) {
	for _, p := range l.inOrder() {
		started := time.Now()
		for l.due(p, at) && time.Since(started) < l.turnTime {
			if p.function != nil {
				l.callFunction(p)
				continue
			}
			l.decide(ctx, p, started)
		}
	}
}

// maxLate is how late a decision may be and still count as made at the moment when it was due, which is also the moment of a replay.
const maxLate = time.Second

// due reports whether a profile has something to decide by now, and may.
func (l *Loop) due(p *owned, now time.Time) bool {
	if at, ok := p.engine.Next(); !p.dirty && ok && !at.After(now) {
		if now.Sub(at) > l.maxLate {
			at = now
		}
		p.wake(at)
	}
	return p.dirty && l.may(p)
}

// may reports whether a profile may decide now: it is not paused; without the game regions it would make matches that find no server, and without the
// open matches it would begin others.
func (l *Loop) may(p *owned) bool {
	return !p.paused && l.mayAsk(p) && l.commits.len() < maxUnderWay && l.hosts.knows(p.profile.Modes) && p.knowsRosters()
}

// decide searches until the profile has nothing to search for, or its turn, which started then, is over.
func (l *Loop) decide(ctx context.Context, p *owned, started time.Time) {
	began := time.Now()
	effort := turnEffort
	if p.profile.Accept > 0 {
		effort = askEffort
	}
	for p.dirty && time.Since(started) < l.turnTime && l.mayAsk(p) && l.commits.len() < maxUnderWay {
		found, done := p.decides.Run(p.at, effort)
		p.dirty = !done
		for _, f := range found {
			l.proposed(ctx, p, f, nil, p.at)
		}
	}
	l.metrics.decide.Observe(time.Since(began).Seconds())
}

// moment implements listener. It has the precision of Postgres, microseconds, so that a replay has the same moments.
func (l *Loop) moment() time.Time {
	if now := l.Store.Now().UTC().Truncate(time.Microsecond); now.After(l.now) {
		l.now = now
	}
	return l.now
}

// wake schedules a decision of the profile at a moment.
func (p *owned) wake(at time.Time) {
	p.dirty = true
	if at.After(p.at) {
		p.at = at
	}
}

// proposed handles a decided match: it begins the ready check of a profile that has one, else it commits the match. marked are its
// tickets if a cycle has accepted the match, else nil.
func (l *Loop) proposed(ctx context.Context, p *owned, found decide.Proposal, marked *db.MarkedTickets, now time.Time) {
	asks := p.profile.Accept > 0 && found.Session == ""
	if asks && !l.mayAsk(p) {
		l.putBack(p, found.Tickets, marked, 0)
		return
	}
	j, err := l.newJob(p, found, now)
	if err != nil {
		l.Log.LogAttrs(ctx, slog.LevelWarn, "a decided match cannot be committed", slog.String("profile", p.name), slog.Any("error", err))
		l.putBack(p, found.Tickets, marked, badPause)
		return
	}
	l.logDecision(ctx, p, found)
	p.shadow.record("live", p.profile, &found, now)
	j.asks = asks
	if marked != nil {
		j.match.Mark, j.maxWait = marked.Mark, l.maxWaitOf(marked.IDs)
	}
	l.commits.add(j)
}

// busy reports whether a step has something to do at once.
func (l *Loop) busy() bool {
	for _, p := range l.profiles {
		if p.dirty && l.may(p) {
			return true
		}
	}
	return false
}

// nextDecision is when time alone makes a decision possible; zero: never.
func (l *Loop) nextDecision() (next time.Time) {
	skew := time.Until(l.Store.Now()) // timers run by this machine's clock
	earlier := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for _, p := range l.profiles {
		if at, ok := p.engine.Next(); ok && l.may(p) { // else what it waits for wakes the loop
			earlier(at.Add(-skew))
		}
		if p.shadow != nil {
			if at, ok := p.shadow.next(skew); ok {
				earlier(at)
			}
		}
	}
	for _, h := range l.holds {
		earlier(h.at)
	}
	return next
}

func (l *Loop) inOrder() []*owned {
	all := make([]*owned, 0, len(l.profiles))
	for _, p := range l.profiles {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *owned) int { return strings.Compare(a.name, b.name) })
	return all
}
