package loop

import (
	"context"
	"log/slog"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/decide"
)

// handleDecided handles a decided match: it begins the ready check of a profile that has one, else it commits the
// match. marked are its tickets if a cycle has accepted the match, else nil.
func (l *Loop) handleDecided(ctx context.Context, p *owned, d decided, marked *db.MarkedTickets) {
	if !l.isCurrent(d) {
		l.metrics.droppedMatches.WithLabelValues(droppedGone).Inc()
		l.putBack(p, d.proposal.Tickets, marked, 0)
		return
	}
	// Newcomers join a match that is played already: there is nothing to accept.
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

// logDecision logs a decision, at debug level only: match_history has the matches that were committed.
func (l *Loop) logDecision(ctx context.Context, p *owned, found decide.Proposal) {
	l.options.Log.LogAttrs(ctx, slog.LevelDebug, "match decided", slog.String("profile", p.name),
		slog.Int("version", p.version),
		slog.String("anchor", found.Anchor), slog.Int("tickets", len(found.Tickets)))
}
