package loop

import (
	"context"
	"log/slog"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/decide"
)

// handleDecided queues a decided match: for a ready check if its profile has one, else for its commit. marked are its
// tickets if a cycle has accepted the match, else nil. The tickets of a match that is not valid are given back.
func (l *Loop) handleDecided(ctx context.Context, p *ownedProfile, d decidedMatch, marked *db.MarkedTickets) {
	if !l.isCurrent(d) {
		l.metrics.droppedMatches.WithLabelValues(droppedGone).Inc()
		l.putBack(p, d.proposal.Tickets, marked, noPause)
		return
	}
	// Newcomers join a match that is played already: there is nothing to accept.
	asksPlayers := p.profile.Accept > 0 && d.proposal.Session == ""
	if asksPlayers && !l.mayAsk(p) {
		l.putBack(p, d.proposal.Tickets, marked, noPause)
		return
	}
	j, err := l.newJob(p, d)
	if err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn, "a decided match cannot be committed",
			slog.String("profile", p.name), slog.Any("error", err))
		l.putBack(p, d.proposal.Tickets, marked, badPause)
		return
	}
	l.logDecision(ctx, p, d.proposal)
	p.shadow.recordMatch("live", p.profile, &d.proposal, d.decidedAt)
	j.asksPlayers = asksPlayers
	if marked != nil {
		j.match.Mark, j.maxWait = marked.MatchMark, l.maxWaitOf(marked.TicketIDs)
	}
	l.commits.addJob(j)
}

// isCurrent reports whether the tickets of a decision are in the queue as they were when the turn began: they may have
// changed or left, or a match of another profile may have taken them.
func (l *Loop) isCurrent(d decidedMatch) bool {
	for i, t := range d.tickets {
		if e := l.queue.entryByID[d.proposal.Tickets[i]]; e == nil || e.decodedOnce.Load() != t {
			return false
		}
	}
	return true
}

// logDecision logs a decision, at debug level only: match_history has the matches that were committed.
func (l *Loop) logDecision(ctx context.Context, p *ownedProfile, found decide.Proposal) {
	l.options.Log.LogAttrs(ctx, slog.LevelDebug, "match decided", slog.String("profile", p.name),
		slog.Int("version", p.version), slog.String("anchor", found.Anchor), slog.Int("tickets", len(found.Tickets)))
}
