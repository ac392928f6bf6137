package loop

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/lattice-director/director/db"
)

const (
	busyPause    = 50 * time.Millisecond // another transaction decides about a player
	refusedPause = 5 * time.Second       // a player has a seat that it is about to take
	badPause     = time.Second           // the database refuses the match: the first pause, see countRefusal
	badPauseMax  = 30 * time.Second
	maxDoublings = 5 // of badPause, after which the pause exceeds badPauseMax
)

// takeOutcomes handles the outcomes of the transactions that ended.
func (l *Loop) takeOutcomes(ctx context.Context) {
	all := l.commits.returnedOutcomes
	l.commits.returnedOutcomes = nil
	for len(l.commits.outcomeQueue) > 0 {
		all = append(all, <-l.commits.outcomeQueue)
	}
	for _, o := range all {
		l.commits.sentBatches--
		// sendBatches forgets a line that has nothing to do.
		if s := l.commits.stateByLine[o.line]; s != nil {
			s.sentByLane[o.lane] = nil
		}
		for _, j := range o.jobs {
			l.commits.endAsking(j)
		}
		l.metrics.commitSeconds.Observe(o.tookTime.Seconds())
		l.handleOutcomes(ctx, o)
	}
}

// handleOutcomes settles the matches of a batch.
func (l *Loop) handleOutcomes(ctx context.Context, o outcomes) {
	// Whether the matches were committed is not known: the changes of the queue say so before the pause is over.
	if o.err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn, "matches could not be committed", slog.Int("matches", len(o.jobs)),
			slog.Any("error", o.err))
		for _, j := range o.jobs {
			l.dropMatch(j, retryPause, droppedError)
		}
		return
	}
	for i, outcome := range o.matchOutcomes {
		l.settleMatch(ctx, o.jobs[i], outcome)
	}
}

// settleMatch handles what became of one match.
func (l *Loop) settleMatch(ctx context.Context, j *job, outcome db.MatchOutcome) {
	switch outcome.Kind {
	case db.MatchCommitted:
		l.handleCommitted(j)
	case db.MatchProposed:
		l.removeCandidatesOf(j) // the changes of the queue bring its tickets back if the ready check fails
		if p := l.profiles[j.match.Profile]; p != nil {
			p.openChecks, p.mayHaveChecks = p.openChecks+1, true
		}
	case db.MatchNoHost:
		l.nextRegion(j)
	case db.MatchTicketsGone:
		l.handleLostTickets(ctx, j, outcome.GoneTickets)
	case db.MatchPlayersBusy:
		l.dropMatch(j, busyPause, droppedBusy)
	case db.MatchRefused:
		l.dropMatch(j, pauseAfterRefusal(outcome.RefusalReason), droppedRefused)
	// The same tickets would make the same match, so the pause grows each time.
	case db.MatchBad:
		l.options.Log.LogAttrs(ctx, slog.LevelError, "the database refuses a match",
			slog.String("profile", j.match.Profile), slog.Any("tickets", j.ticketIDs()))
		l.dropMatch(j, l.countRefusal(j.anchorTicket), droppedBad)
	}
}

// pauseAfterRefusal returns a longer pause where a player has a seat: until the player takes the seat or its time is
// over, the same match is refused again. An open match that has changed is read anew within a second.
func pauseAfterRefusal(reason string) time.Duration {
	if reason == db.RefusedSeated {
		return refusedPause
	}
	return busyPause
}

// handleCommitted forgets the tickets of a match. The feed of the queue says the same a moment later.
func (l *Loop) handleCommitted(j *job) {
	l.metrics.committedMatches.WithLabelValues(j.match.Profile).Inc()
	if j.match.Accepted {
		l.metrics.readyChecks.WithLabelValues("accepted").Inc()
	}
	now, p := l.options.Store.Now(), l.profiles[j.match.Profile]
	for i, t := range j.match.Tickets {
		if w := j.waiters[i]; !w.createdAt.IsZero() {
			waited := max(0, now.Sub(w.createdAt))
			l.metrics.waitingTime.Observe(waited.Seconds())
			if p != nil && p.waitTimes != nil {
				p.waitTimes.estimator.End(now, w.createdAt, w.pivotNumber)
			}
		}
		l.queue.removeTicket(t.ID)
	}
}

// removeCandidatesOf takes the tickets of a match out of every profile, without forgetting them.
func (l *Loop) removeCandidatesOf(j *job) {
	for _, t := range j.match.Tickets {
		if e := l.queue.entryByID[t.ID]; e != nil {
			l.removeCandidate(e)
		}
	}
}

// nextRegion tries the next best game region, and after the last lets the match wait for a server.
func (l *Loop) nextRegion(j *job) {
	if !j.asksPlayers && j.regionIndex+1 < len(j.match.Regions) {
		j.regionIndex++
		l.commits.addJob(j)
		return
	}
	// The match was decided while no game region was known, and one appeared meanwhile.
	if p := l.profiles[j.match.Profile]; p != nil && len(j.match.Regions) == 0 &&
		len(l.hosts.regionsOf(p.profile)) > 0 {
		l.giveBack(j, noPause)
		return
	}
	// No region has a server with room: when one may have, the match tries its best region first.
	j.regionIndex = 0
	l.waiting.addJob(j)
}

// countRefusal counts that the match of an anchor was refused, and returns the pause of its tickets, which doubles each
// time.
func (l *Loop) countRefusal(anchor string) (pause time.Duration) {
	refusals := l.refusalsByAnchor[anchor]
	l.refusalsByAnchor[anchor] = refusals + 1
	return min(badPause<<min(refusals, maxDoublings), badPauseMax)
}

// handleLostTickets reads the tickets that turned out not to be free, and then makes the others candidates again: after
// a pause if the reading found nothing new, so that the same match is not decided and refused without end.
func (l *Loop) handleLostTickets(ctx context.Context, j *job, gone []string) {
	l.metrics.droppedMatches.WithLabelValues(droppedGone).Inc()
	known := l.queue.freeVersions(gone)
	err := l.queue.refreshTickets(ctx, gone)
	if err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn, "tickets could not be read", slog.Any("error", err))
	}
	for _, id := range gone {
		if !db.IssuedHere(l.options.Universe, db.TicketID, id) {
			l.options.Log.LogAttrs(ctx, slog.LevelError,
				"a ticket cannot be matched: its id was not issued for its region", slog.String("ticket", id))
			l.queue.barTicket(id)
		}
	}
	areUnchanged := len(known) == len(gone) && maps.Equal(known, l.queue.freeVersions(gone))
	if err != nil || areUnchanged {
		l.giveBack(j, l.countRefusal(j.anchorTicket))
		return
	}
	l.giveBack(j, noPause)
}
