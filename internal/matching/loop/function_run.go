package loop

import (
	"context"
	"log/slog"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/match"
)

// callFunction starts a call of a profile's function, concurrent with the loop, when it is due.
func (l *Loop) callFunction(p *ownedProfile) {
	now, f := l.currentMoment(), p.function
	if at, ok := f.Next(); !ok || at.After(now) {
		return
	}
	// Put off, since a call that stays due would keep the loop awake until another one has ended.
	if l.calls.runningCount >= maxFunctionCalls {
		f.notBefore = now.Add(functionTurn)
		return
	}
	f.beginCall(now)
	l.calls.runningCount++
	call := &functionCall{matchmaker: l.options.Matchmaker, store: l.options.Store, universe: l.options.Universe,
		playerArg: l.options.PlayerArg, judgedAt: now, profile: f.profile, profileName: p.name,
		ownerEpoch: p.ownerEpoch, function: f}
	l.calls.goroutines.Go(func() { l.calls.runAndReport(call) })
}

// takeCalls handles the calls of functions that ended.
func (l *Loop) takeCalls(ctx context.Context) error {
	all := slices.Concat(l.calls.returnedCalls, l.calls.takeDelivered())
	l.calls.returnedCalls = nil
	for i, c := range all {
		l.calls.runningCount--
		if err := l.takeCall(ctx, c); err != nil {
			// The loop begins anew: dropCalls frees the tickets of the calls that were not handled, beginning with this
			// one.
			l.calls.returnedCalls = all[i:]
			return err
		}
	}
	return nil
}

// takeCall handles the accepted matches of a call as decided ones. If another worker or another version now decides for
// the profile, it returns their tickets to the queue.
func (l *Loop) takeCall(ctx context.Context, c *functionCall) error {
	l.reportCall(ctx, c)
	p := l.profiles[c.profileName]
	if p == nil || p.function != c.function {
		// Freed at once, so that the function of the worker or version that decides now may propose the tickets again.
		for _, m := range c.markedTickets() {
			l.freeLater(m, noPause)
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

// readMarked reads the tickets of a call's accepted matches anew: as marked ones they are no longer candidates of other
// profiles.
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

// takeAccepted completes a match of a function and handles it as a decided one, unless a ticket has left the queue.
func (l *Loop) takeAccepted(ctx context.Context, p *ownedProfile, m cycle.Accepted, teams map[string]string) {
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
		l.metrics.droppedMatches.WithLabelValues(droppedGone).Inc()
		l.freeLater(marked, noPause)
		return
	}
	l.handleDecided(ctx, p, decidedMatch{proposal: p.function.completer.Proposal(tickets, teams, p.function.hostRegions),
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
	if failure == c.function.lastFailure {
		return
	}
	c.function.lastFailure = failure
	if failure == "" {
		l.options.Log.LogAttrs(ctx, slog.LevelInfo, "the match function of a profile works again", about)
		return
	}
	l.options.Log.LogAttrs(ctx, slog.LevelWarn, "the match function of a profile fails", about,
		slog.String("error", failure))
}

// dropCalls waits for the running calls, whose context has ended, and returns the tickets of their matches to the
// queue.
func (l *Loop) dropCalls() {
	l.calls.goroutines.Wait()
	for _, c := range append(l.calls.returnedCalls, l.calls.takeDelivered()...) {
		for _, m := range c.markedTickets() {
			l.freeLater(m, noPause)
		}
	}
	l.calls = newCalls(l.options)
}
