package loop

import (
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/ticketbody"
	"github.com/lattice-director/director/match"
)

// history is what is remembered of a ticket when it leaves the queue, for replays; nil where nothing is kept.
func (l *Loop) history(e *entry, t *match.Ticket) *db.TicketHistory {
	if l.KeepHistory == HistoryNone {
		return nil
	}
	kept := l.KeepHistory.ticket(t)
	h := &db.TicketHistory{SeenAt: e.seen, Profiles: kept.Profiles}
	for _, p := range kept.Players {
		h.Party = append(h.Party, p.Sub)
	}
	h.Attributes, h.Latencies = ticketbody.Facts(kept)
	return h
}
