package loop

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

// turns runs turns on a few goroutines, first come, first served. Profiles that used up their last turn, the hot ones,
// never run on all of them, so that another profile begins at once, and always on one, so that many others do not stop
// them. Among themselves the hot ones take turns of equal length.
type turns struct {
	maxRunning int // goroutines at most, at least 2
	guard      *panics.Guard
	turnEnded  chan struct{} // a turn has ended

	mu           sync.Mutex
	light, hot   []*turn // that wait
	runningCount int
	hotRunning   int
	ended        []*turn // whose results are not taken yet
	goroutines   sync.WaitGroup
}

func newTurns(slots int, guard *panics.Guard) *turns {
	return &turns{maxRunning: max(2, slots), guard: guard, turnEnded: make(chan struct{}, 1)}
}

// beginTurn queues a turn.
func (q *turns) beginTurn(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.isHot {
		q.hot = append(q.hot, t)
	} else {
		q.light = append(q.light, t)
	}
	if q.runningCount < q.maxRunning {
		q.runningCount++
		q.goroutines.Go(q.runTurns)
	}
}

// runTurns runs turns until none may run.
func (q *turns) runTurns() {
	for t := q.nextTurn(nil); t != nil; t = q.nextTurn(t) {
		t.err = q.guard.Do("director loop", func() error { t.runSteps(); return nil })
	}
}

// nextTurn takes the result of a turn, nil for none, and returns the turn that runs next on this goroutine; nil: it ends.
func (q *turns) nextTurn(last *turn) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last != nil {
		if last.isHot {
			q.hotRunning--
		}
		q.ended = append(q.ended, last)
		wait.Wake(q.turnEnded)
	}
	switch {
	// One hot turn may always run. Further ones run while no light one waits, and leave one goroutine free for the
	// next.
	case len(q.hot) > 0 && (q.hotRunning == 0 || len(q.light) == 0 && q.hotRunning < q.maxRunning-1):
		q.hotRunning++
		return shiftTurn(&q.hot)
	case len(q.light) > 0:
		return shiftTurn(&q.light)
	}
	q.runningCount--
	return nil
}

func shiftTurn(queue *[]*turn) *turn {
	first := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	return first
}

// takeEnded returns the turns that have ended since the last call.
func (q *turns) takeEnded() (ended []*turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended, q.ended = q.ended, nil
	return ended
}

// dropAll ends what waits, and waits for what runs.
func (q *turns) dropAll() {
	q.mu.Lock()
	q.light, q.hot = nil, nil
	q.mu.Unlock()
	q.goroutines.Wait()
}

const (
	// turnTime bounds how long one profile decides before other hot ones have their turn and its matches are sent.
	turnTime = 10 * time.Millisecond
	// turnEffort is how many nodes a profile searches between two looks at the clock, some milliseconds.
	turnEffort = 16384
	// turnMatches ends a turn, so that the loop handles the matches of one turn in a few milliseconds.
	turnMatches = 256
	// askEffort is the effort of profiles with ready checks, of which only a few may begin at a time.
	askEffort = 1024
	// maxUnderWay bounds the matches of this worker that are decided and not committed yet, of all game regions, since
	// only the decision says which region a match is for. Beyond it, deciding waits: for the length of a transaction at
	// most, which the database bounds.
	maxUnderWay = 4096
	// maxLate is how late a decision may be and still count as made at the moment when it was due, which is also the
	// moment of a replay.
	maxLate = time.Second
	// panicPause is how long a profile waits after a bug ended its turn.
	panicPause = 5 * time.Second
)

// takeTurns takes the results of the turns that ended.
func (l *Loop) takeTurns(ctx context.Context) {
	for _, t := range l.turns.takeEnded() {
		t.decider.endTurn(t)
		l.metrics.decideSeconds.Observe(t.tookTime.Seconds())
		switch p := t.profile; {
		case t.shadow != nil:
			l.endShadow(t)
		case l.profiles[p.name] != p || p.liveDecider != t.decider: // another worker or another version decides now
		case t.err != nil:
			l.decideAnew(ctx, p)
		default:
			for _, d := range t.decidedMatches {
				l.handleDecided(ctx, p, d, nil)
			}
		}
	}
}

// decideAnew replaces the engine of a profile whose turn ended by a panic, which is in the log with its stack. Other
// profiles go on.
func (l *Loop) decideAnew(ctx context.Context, p *owned) {
	p.failedAt = time.Now()
	l.metrics.beginningsAnew.WithLabelValues(anewFailed).Inc()
	l.options.Log.LogAttrs(ctx, slog.LevelError,
		"a decision failed because of a bug: the profile decides anew after a pause",
		slog.String("profile", p.name), slog.Int("version", p.version), slog.Duration("pause", panicPause))
	p.openMatches, p.rostersRead = nil, time.Time{}
	p.decideBy(p.profile)
	l.fillProfile(p)
}

// beginTurns begins a turn of each profile that has something to search for, in the order of names.
func (l *Loop) beginTurns() {
	now, room := l.currentMoment(), maxUnderWay-l.commits.len()
	for _, p := range l.inOrder() {
		mayDecide := l.mayDecide(p, room)
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
func (l *Loop) beginTurn(p *owned, now time.Time, mayDecide bool, room int) {
	d := p.liveDecider
	if d.isRunning || len(d.queuedChanges) == 0 && !(mayDecide && d.mayFind(now)) {
		return
	}
	t := &turn{profile: p, beganAt: now, mayDecide: mayDecide, maxTime: l.turnTime, maxLate: l.maxLate,
		searchEffort: turnEffort,
		maxMatches:   min(turnMatches, room), playerArg: l.options.PlayerArg}
	if p.profile.Accept > 0 {
		t.searchEffort, t.maxMatches = askEffort, min(t.maxMatches,
			maxReadyChecks-p.openChecks-l.commits.askingByProfile[p.name])
	}
	l.turns.beginTurn(d.beginTurn(t))
}

// mayDecide reports whether a profile may decide now, with room for so many matches under way: it is not paused;
// without the game regions it would make matches that find no server, and without the open matches it would begin
// others.
func (l *Loop) mayDecide(p *owned, room int) bool {
	return !p.isPaused && l.mayAsk(p) && room > 0 && l.hosts.knowsModes(p.profile.Modes) && p.knowsRosters() &&
		(p.failedAt.IsZero() || time.Since(p.failedAt) >= panicPause)
}

// currentMoment implements listener. It has the precision of Postgres, microseconds, so that a replay has the same moments.
func (l *Loop) currentMoment() time.Time {
	if now := l.options.Store.Now().UTC().Truncate(time.Microsecond); now.After(l.lastMoment) {
		l.lastMoment = now
	}
	return l.lastMoment
}

// handleDecided handles a decided match: it begins the ready check of a profile that has one, else it commits the match.
// marked are its tickets if a cycle has accepted the match, else nil.
func (l *Loop) handleDecided(ctx context.Context, p *owned, d decided, marked *db.MarkedTickets) {
	if !l.isCurrent(d) {
		l.metrics.droppedMatches.WithLabelValues("gone").Inc()
		l.putBack(p, d.proposal.Tickets, marked, 0)
		return
	}
	asks := p.profile.Accept > 0 && d.proposal.Session == ""
	if asks && !l.mayAsk(p) {
		l.putBack(p, d.proposal.Tickets, marked, 0)
		return
	}
	j, err := l.newJob(p, d)
	if err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn, "a decided match cannot be committed",
			slog.String("profile", p.name),
			slog.Any("error", err))
		l.putBack(p, d.proposal.Tickets, marked, badPause)
		return
	}
	l.logDecision(ctx, p, d.proposal)
	p.shadow.recordMatch("live", p.profile, &d.proposal, d.decidedAt)
	j.asksPlayers = asks
	if marked != nil {
		j.match.Mark, j.maxWait = marked.MatchMark, l.maxWaitOf(marked.TicketIDs)
	}
	l.commits.addJob(j)
}

// isCurrent reports whether the tickets of a decision are in the queue as they were when the turn began: they may have
// changed or left, or a match of another profile may have taken them.
func (l *Loop) isCurrent(d decided) bool {
	for i, t := range d.tickets {
		if e := l.queue.entryByID[d.proposal.Tickets[i]]; e == nil || e.decodedOnce.Load() != t {
			return false
		}
	}
	return true
}

// nextDecision is when time alone makes a decision possible; zero: never.
func (l *Loop) nextDecision() (next time.Time) {
	skew := time.Until(l.options.Store.Now()) // timers run by this machine's clock
	earlier := func(at time.Time, ok bool) {
		if ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	room := maxUnderWay - l.commits.len()
	for _, p := range l.profiles {
		if l.mayDecide(p, room) { // else what it waits for wakes the loop
			earlier(p.nextDecision(skew))
		}
		earlier(p.shadow.nextDecision(skew))
	}
	for _, h := range l.holds {
		earlier(h.heldUntil, true)
	}
	return next
}

// nextDecision returns when a profile may have something to decide, by this machine's clock; ok is false if it has
// nothing, or decides now.
func (p *owned) nextDecision(skew time.Duration) (at time.Time, ok bool) {
	if p.function != nil {
		at, ok = p.function.Next()
		return at.Add(-skew), ok
	}
	return p.liveDecider.nextAt.Add(-skew), p.liveDecider.hasNext && !p.liveDecider.isRunning
}

// inOrder returns the profiles in the order of names.
func (l *Loop) inOrder() []*owned {
	if l.profilesByName == nil {
		for _, p := range l.profiles {
			l.profilesByName = append(l.profilesByName, p)
		}
		slices.SortFunc(l.profilesByName, func(a, b *owned) int { return strings.Compare(a.name, b.name) })
	}
	return l.profilesByName
}

func (l *Loop) setProfile(p *owned) { l.profiles[p.name], l.profilesByName = p, nil }

func (l *Loop) forgetProfile(name string) {
	delete(l.profiles, name)
	l.profilesByName = nil
}
