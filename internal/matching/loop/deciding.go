package loop

import (
	"context"
	"log/slog"
	"time"
)

const (
	// turnEffort is how many nodes a profile searches between two readings of the clock, some milliseconds.
	turnEffort = 16384
	// turnMatches bounds the matches of a turn, so that the loop handles them in a few milliseconds.
	turnMatches = 256
	// askEffort is turnEffort for profiles with ready checks, of which only a few may begin at a time.
	askEffort = 1024
	// panicPause is how long a profile waits after a bug ended its turn.
	panicPause = 5 * time.Second
)

// takeTurns takes the results of the turns that ended.
func (l *Loop) takeTurns(ctx context.Context) {
	for _, t := range l.turns.takeEnded() {
		t.decider.endTurn(t)
		l.metrics.decideSeconds.Observe(t.tookTime.Seconds())
		p := l.profiles[t.profileName]
		switch {
		// This worker gave the profile up, or lost it.
		case p == nil:
			continue
		case t.isShadow:
			l.endShadow(p, t)
		// Otherwise another version decides now, or this worker gave the profile up and took it again: the matches are
		// not of the engine that has the tickets.
		case p.liveDecider == t.decider:
			l.endLive(ctx, p, t)
		}
	}
}

// endLive takes the result of a turn of a profile's live version.
func (l *Loop) endLive(ctx context.Context, p *ownedProfile, t *turn) {
	if t.err != nil {
		l.decideAnew(ctx, p)
		return
	}
	for _, d := range t.decidedMatches {
		l.handleDecided(ctx, p, d, nil)
	}
}

// decideAnew replaces the engine of a profile whose turn ended by a panic, which is in the log with its stack. Other
// profiles go on.
func (l *Loop) decideAnew(ctx context.Context, p *ownedProfile) {
	p.failedAt = time.Now()
	l.metrics.beginningsAnew.WithLabelValues(anewFailed).Inc()
	l.options.Log.LogAttrs(ctx, slog.LevelError,
		"a decision failed because of a bug: the profile decides anew after a pause",
		slog.String("profile", p.name), slog.Int("version", p.version), slog.Duration("pause", panicPause))
	// The new engine knows no open match, so that all of them count as changed at the next reading.
	p.openMatches, p.rostersRead = nil, time.Time{}
	p.replaceEngine()
	l.fillProfile(p)
}

// beginTurns begins a turn of each profile that has something to search for, in the order of names.
func (l *Loop) beginTurns() {
	now, room := l.currentMoment(), maxUnderWay-l.commits.len()
	for _, p := range l.profilesInOrder() {
		mayDecide := l.mayDecide(p, room)
		// A function decides outside this worker: it has calls in place of turns.
		if p.function != nil {
			if mayDecide {
				l.callFunction(p)
			}
			continue
		}
		l.beginTurn(p, now, mayDecide, room)
		l.beginShadow(p, now)
	}
}

// beginTurn begins a turn of a profile. One that may not decide learns of changes all the same.
func (l *Loop) beginTurn(p *ownedProfile, now time.Time, mayDecide bool, room int) {
	d := p.liveDecider
	hasWork := len(d.queuedChanges) > 0 || mayDecide && d.mayFind(now)
	if d.isRunning || !hasWork {
		return
	}
	t := &turn{profileName: p.name, beganAt: now, mayDecide: mayDecide, maxTime: l.turnTime, maxLate: l.maxLate,
		searchEffort: turnEffort, maxMatches: min(turnMatches, room), playerArg: l.options.PlayerArg}
	if p.profile.Accept > 0 {
		// Matches beyond the bound of open checks would be given back at once, with the effort that found them.
		t.searchEffort = askEffort
		t.maxMatches = min(t.maxMatches, maxReadyChecks-p.openChecks-l.commits.askingByProfile[p.name])
	}
	l.turns.queueTurn(d.prepareTurn(t))
}

// mayDecide reports whether a profile may decide now, with room for so many matches under way. It is not paused, not
// even by a panic, and its game regions and open matches are known: without regions it would make matches that find no
// server, and without open matches it would begin others.
func (l *Loop) mayDecide(p *ownedProfile, room int) bool {
	return !p.isPaused && l.mayAsk(p) && room > 0 && l.hosts.knowsModes(p.profile.Modes) && p.knowsRosters() &&
		(p.failedAt.IsZero() || time.Since(p.failedAt) >= panicPause)
}

// nextDecision returns when time alone makes a decision possible, after a step that began at stepAt; zero: never.
func (l *Loop) nextDecision(stepAt time.Time) (next time.Time) {
	dbAhead := time.Until(l.options.Store.Now()) // timers run by this machine's clock
	consider := func(dueAt time.Time, ok bool) {
		if !ok {
			return
		}
		if at := endOfSleep(dueAt, stepAt); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	room := maxUnderWay - l.commits.len()
	for _, p := range l.profiles {
		if l.mayDecide(p, room) { // else what the profile waits for wakes the loop
			consider(p.nextDecision(dbAhead))
		}
		consider(p.shadow.nextDecision(dbAhead))
	}
	for _, h := range l.holds {
		consider(h.heldUntil, true)
	}
	return next
}
