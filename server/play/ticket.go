package play

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

// ticketFace serves tickets to players, or to backends that queue for them.
type ticketFace struct {
	tickets   Tickets
	isBackend bool // the caller is a backend, which queues for players
	places    *places
	estimates *estimates
}

// newTicketFace returns the face with defaults for what the options leave out. Faces share no readings of the queue.
func newTicketFace(t Tickets) ticketFace {
	if t.CheckHere == nil {
		t.CheckHere = func(string) error { return nil }
	}
	if t.CallTimeout == 0 {
		t.CallTimeout = 900 * time.Millisecond
	}
	if t.beatEvery == 0 {
		t.beatEvery = 15 * time.Second
	}
	return ticketFace{tickets: t, places: newPlaces(t), estimates: newEstimates(t)}
}

// readTicket returns a ticket as the caller sees it. Errors: Elsewhere, also for a call that has waited while the
// universe moved to another cell: its tickets are gone here.
func (f ticketFace) readTicket(ctx context.Context, id string) (db.PlayerTicket, error) {
	if err := f.tickets.CheckHere(f.tickets.Region); err != nil {
		return db.PlayerTicket{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.tickets.CallTimeout)
	defer cancel()
	if f.isBackend {
		t, err := f.tickets.Store.AnyTicket(ctx, f.tickets.Region, id)
		t.LeaseTTL = 0 // a backend that reads a ticket is no player that waits for it
		return t, err
	}
	return f.tickets.Store.SeePlayerTicket(ctx, f.tickets.Region, id, rest.Caller(ctx))
}

// callerOf returns the player that calls, "" for a backend.
func (f ticketFace) callerOf(ctx context.Context) string {
	if f.isBackend {
		return ""
	}
	return rest.Caller(ctx)
}

// logTicket adds a ticket to the access log line.
func logTicket(ctx context.Context, id string) {
	rest.AddLogAttrs(ctx, slog.String("ticket_id", id))
}
