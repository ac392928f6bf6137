package loop

import (
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// history returns what a ticket's history keeps when it leaves the queue; nil if no history is kept.
func (l *Loop) history(e *entry, t *match.Ticket) *db.TicketHistory {
	if l.NoHistory {
		return nil
	}
	h := &db.TicketHistory{SeenAt: e.seen, Profiles: t.Profiles}
	for _, p := range t.Players {
		h.Party = append(h.Party, p.Sub)
	}
	h.Party = l.Privacy.Party(h.Party)
	h.Attributes, h.Latencies = l.Privacy.Facts(t)
	return h
}
