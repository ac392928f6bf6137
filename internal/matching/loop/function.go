package loop

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

const (
	// functionInterval is how often a function is called while candidates wait and none is new, since its rules may
	// widen with time.
	functionInterval = 5 * time.Second
	// functionPauseMax bounds the pauses of a function that fails. They double, beginning with the profile's every.
	functionPauseMax = 30 * time.Second
	// maxFunctionCalls bounds the concurrent calls of functions on this worker; a call beyond it waits for
	// functionTurn.
	maxFunctionCalls = 64
	functionTurn     = 100 * time.Millisecond
)

// function schedules the calls of a profile's match function. Its times are the database's.
type function struct {
	profile       *profile.Profile
	completer     *decide.Completer // adds modes, regions and seats to its matches
	hostRegions   []decide.Region
	candidateIDs  map[string]bool // ids of the candidates
	hasNew        bool            // a candidate is new since the last call began
	isCalling     bool
	beganAt       time.Time // the last call
	notBefore     time.Time // not to be called before
	failurePauses *backoff.ExponentialBackOff
	lastFailure   string // of the last call; "" when it succeeded
}

func newFunction(p *profile.Profile) *function {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = p.Function.Every, 2, max(functionPauseMax,
		p.Function.Every)
	return &function{profile: p, completer: decide.NewCompleter(p), candidateIDs: map[string]bool{},
		failurePauses: pauses}
}

// Add implements engine.
func (f *function) Add(t *match.Ticket) {
	delete(f.candidateIDs, t.ID)
	if ok, _ := f.completer.Candidate(t); ok {
		f.candidateIDs[t.ID], f.hasNew = true, true
	}
}

// Remove implements engine.
func (f *function) Remove(id string) { delete(f.candidateIDs, id) }

// Return implements engine. The function may propose the tickets again.
func (f *function) Return(...string) { f.hasNew = true }

// Has implements engine.
func (f *function) Has(id string) bool { return f.candidateIDs[id] }

// Len implements engine.
func (f *function) Len() int { return len(f.candidateIDs) }

// SetRegions implements engine.
func (f *function) SetRegions(regions []decide.Region) { f.hostRegions = regions }

// Next implements engine: when the function is called next.
func (f *function) Next() (at time.Time, ok bool) {
	at = f.notBefore
	if again := f.beganAt.Add(functionInterval); !f.hasNew && again.After(at) {
		at = again
	}
	return at, len(f.candidateIDs) > 0 && !f.isCalling
}

// beginCall records the beginning of a call.
func (f *function) beginCall(now time.Time) {
	f.isCalling, f.hasNew, f.beganAt, f.notBefore = true, false, now, now.Add(f.profile.Function.Every)
}

// endCall records the end of a call. Each failure in a row doubles the pause before the next call.
func (f *function) endCall(now time.Time, failed bool) {
	f.isCalling = false
	if !failed {
		f.failurePauses.Reset()
		return
	}
	f.hasNew = true
	if at := now.Add(f.failurePauses.NextBackOff()); at.After(f.notBefore) {
		f.notBefore = at
	}
}

// callFunction starts a call of a profile's function, concurrent with the loop, when it is due.
func (l *Loop) callFunction(p *owned) {
	now, f := l.currentMoment(), p.function
	if at, ok := f.Next(); !ok || at.After(now) {
		return
	}
	if l.calls.runningCount >= maxFunctionCalls {
		f.notBefore = now.Add(functionTurn)
		return
	}
	f.beginCall(now)
	l.calls.runningCount++
	call := &functionCall{matchmaker: l.options.Matchmaker, store: l.options.Store, universe: l.options.Universe,
		playerArg: l.options.PlayerArg,
		judgedAt:  now, profile: f.profile, profileName: p.name, ownerEpoch: p.ownerEpoch,
		function: f}
	l.calls.goroutines.Go(func() { l.calls.runAndReport(call) })
}

// takeCalls handles the calls of functions that ended.
func (l *Loop) takeCalls(ctx context.Context) error {
	all := slices.Concat(l.calls.returned, l.calls.delivered())
	l.calls.returned = nil
	for _, c := range all {
		l.calls.runningCount--
		if err := l.takeCall(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// takeCall finds servers for the accepted matches of a call. If another worker or another version now decides for the
// profile, it returns their tickets to the queue.
func (l *Loop) takeCall(ctx context.Context, c *functionCall) error {
	l.reportCall(ctx, c)
	p := l.profiles[c.profileName]
	if p == nil || p.function != c.function {
		// Another worker or version decides now, and its function may propose the tickets again at once.
		for _, m := range c.markedTickets() {
			l.freeTickets(m, 0)
		}
		return nil
	}
	p.function.endCall(l.currentMoment(), c.err != nil)
	if err := l.readMarked(ctx, c); err != nil {
		return err
	}
	for _, m := range c.acceptedMatches {
		l.takeAccepted(ctx, p, m, c.teamsByMatch[m.Proposal.ID])
	}
	return nil
}

// readMarked reads the tickets of accepted matches, which are no longer candidates of other profiles.
func (l *Loop) readMarked(ctx context.Context, c *functionCall) error {
	var ids []string
	for _, m := range c.acceptedMatches {
		ids = append(ids, m.Proposal.Tickets...)
	}
	for page := range slices.Chunk(ids, refreshPage) {
		if err := l.queue.refreshTickets(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// takeAccepted completes a match of a function, and finds it a server.
func (l *Loop) takeAccepted(ctx context.Context, p *owned, m cycle.Accepted, teams map[string]string) {
	marked := db.MarkedTickets{TicketIDs: m.Proposal.Tickets, MatchMark: m.Mark}
	tickets := make([]*match.Ticket, 0, len(m.Proposal.Tickets))
	for _, id := range m.Proposal.Tickets {
		if e := l.queue.entryByID[id]; e != nil {
			if t, err := e.decodedTicket(l.options.PlayerArg); err == nil {
				tickets = append(tickets, t)
			}
		}
	}
	if len(tickets) < len(m.Proposal.Tickets) {
		l.metrics.droppedMatches.WithLabelValues("gone").Inc()
		l.freeTickets(marked, 0)
		return
	}
	l.handleDecided(ctx, p, decided{proposal: p.function.completer.Proposal(tickets, teams, p.function.hostRegions),
		decidedAt: l.currentMoment()}, &marked)
}

// reportCall counts a call. It logs a failure that differs from the last one, and the first success after failures.
func (l *Loop) reportCall(ctx context.Context, c *functionCall) {
	result, failure := "ok", ""
	if c.err != nil {
		result, failure = "failed", c.err.Error()
	}
	l.metrics.functionCalls.WithLabelValues(c.profileName, result).Inc()
	for why, n := range c.refusedByReason {
		l.metrics.functionRefused.WithLabelValues(why).Add(float64(n))
	}
	about := slog.String("profile", c.profileName)
	if len(c.refusedByReason) > 0 {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn, "a match function proposes matches that cannot be committed", about,
			slog.Any("matches", c.refusedByReason))
	}
	if last := c.function.lastFailure; failure != last {
		c.function.lastFailure = failure
		if failure == "" {
			l.options.Log.LogAttrs(ctx, slog.LevelInfo, "the match function of a profile works again", about)
		} else {
			l.options.Log.LogAttrs(ctx, slog.LevelWarn, "the match function of a profile fails", about,
				slog.String("error", failure))
		}
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

// delayedFree frees the tickets of a dropped match of a function at a later time.
type delayedFree struct {
	tickets db.MarkedTickets
	freeAt  time.Time
}

// dropCalls waits for the running calls, whose context has ended, and returns the tickets of their matches to the
// queue.
func (l *Loop) dropCalls() {
	l.calls.goroutines.Wait()
	for _, c := range append(l.calls.returned, l.calls.delivered()...) {
		for _, m := range c.markedTickets() {
			l.freeTickets(m, 0)
		}
	}
	l.calls = newCalls(l.options)
}

// freeTickets returns the tickets of a function's match to the queue after a delay.
func (l *Loop) freeTickets(tickets db.MarkedTickets, after time.Duration) {
	l.delayedFrees = append(l.delayedFrees, delayedFree{tickets, time.Now().Add(after)})
}

// freeAll returns the tickets of all matches of a profile's function to the queue; "": of all profiles.
func (l *Loop) freeAll(profile string) {
	for _, j := range append(l.commits.allJobs(), l.waiting.jobs...) {
		if m := j.markedTickets(); m != nil && (profile == "" || profile == j.match.Profile) {
			l.freeTickets(*m, 0)
		}
	}
}

// freeMarked returns the tickets that are due to the queue. If that fails, they become free when their marks expire.
func (l *Loop) freeMarked(ctx context.Context) {
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
	if l.delayedFrees = rest; len(due) == 0 {
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

// abandonedFor is how long after a takeover a cycle may still accept proposals of the former owner: until it notices,
// within its lease of 2 seconds, that the caller is gone.
const abandonedFor = 5 * time.Second

// freeAbandoned returns the tickets of matches that functions proposed to former owners, which cannot commit them any
// more: when a profile is taken over, and again once no cycle can accept such a match.
func (l *Loop) freeAbandoned(ctx context.Context) error {
	epochs := map[string]int64{}
	for name, p := range l.profiles {
		if len(p.freeTimes) > 0 && !time.Now().Before(p.freeTimes[0]) {
			epochs[name], p.freeTimes = p.ownerEpoch, p.freeTimes[1:]
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
	if freed > 0 {
		l.options.Log.LogAttrs(ctx, slog.LevelInfo, "tickets of a former owner are free", slog.Int("tickets", freed))
	}
	return err
}
