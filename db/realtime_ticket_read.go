package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// RealtimeTicket returns the ticket with which a session waits. Errors: NotFound if it waits with none; Unavailable.
func (s *Store) RealtimeTicket(ctx context.Context, region, session string) (WaitingRealtime, error) {
	row, err := s.q.WaitingOfSession(ctx, query.WaitingOfSessionParams{Region: region, Session: session})
	if errors.Is(err, pgx.ErrNoRows) {
		return WaitingRealtime{}, fault.New(fault.NotFound, "not_queued", "the session waits for no match")
	}
	if err != nil {
		return WaitingRealtime{}, classify(err)
	}
	return WaitingRealtime{session, row.TicketRegion, row.Ticket, row.Sub, row.RoomType, int(row.Size)}, nil
}
