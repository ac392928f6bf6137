package loop

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/match/decide"
)

const (
	// turnTime bounds how long one profile decides before the others have their turn and transactions are sent.
	turnTime = 50 * time.Millisecond
	// turnEffort is how many nodes a profile searches between two looks at the clock, some milliseconds.
	turnEffort = 16384
	// maxUnderWay bounds the matches of this worker that are decided and not committed yet: beyond it, deciding waits.
	maxUnderWay = 4096
)

// turn lets each profile that has something to search for decide for a while, in the order of names.
func (l *Loop) turn(ctx context.Context) {
	now := l.Store.Now()
	for _, p := range l.inOrder() {
		if at, ok := p.engine.Next(); ok && !at.After(now) {
			p.dirty = true
		}
		if p.dirty && p.checks < maxReadyChecks && l.commits.len() < maxUnderWay {
			l.decide(ctx, p, now)
		}
	}
}

func (l *Loop) decide(ctx context.Context, p *owned, now time.Time) {
	started := time.Now()
	for p.dirty && time.Since(started) < turnTime && l.commits.len() < maxUnderWay {
		found, done := p.engine.Run(now, turnEffort)
		p.dirty = !done
		for _, f := range found {
			l.proposed(ctx, p, f, now)
		}
	}
	l.metrics.decide.Observe(time.Since(started).Seconds())
}

// proposed sends a decided match on its way: to its players first, where the profile has a ready check, else to be committed.
func (l *Loop) proposed(ctx context.Context, p *owned, found decide.Proposal, now time.Time) {
	j, err := l.newJob(p, found, now)
	if err != nil {
		l.Log.LogAttrs(ctx, slog.LevelWarn, "a decided match cannot be committed", slog.String("profile", p.name), slog.Any("error", err))
		l.returnAfter(badPause, p.name, found.Tickets)
		return
	}
	l.logDecision(ctx, p, found)
	j.asks = p.profile.Accept > 0 && found.Session == ""
	l.commits.add(j)
}

// busy reports whether a step has something to do at once.
func (l *Loop) busy() bool {
	if l.commits.len() >= maxUnderWay {
		return false
	}
	for _, p := range l.profiles {
		if p.dirty && p.checks < maxReadyChecks {
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
		if at, ok := p.engine.Next(); ok {
			earlier(at.Add(-skew))
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
