package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// WaitingRegions returns the regions of the realtime lobby with sessions that wait for a match, rooms that must hear
// what became of their tickets, or rooms of matches with a server. Errors: Unavailable.
func (s *Store) WaitingRegions(ctx context.Context) ([]string, error) {
	regions, err := s.q.WaitingRegions(ctx)
	return regions, frame.Classify(err)
}

// SettleLostTickets ends the waiting of sessions whose ticket left the queue without them, at most batch tickets: it
// expired, an operator deleted it, or a director of Open Match assigned it. The sessions of an assigned ticket are
// invited into a room with the server that connection finds in the assignment. Any number of workers may call it at the
// same time. Errors: Unavailable.
func (s *Store) SettleLostTickets(ctx context.Context, region string, batch int,
	connection func(assignment []byte) (string, error)) (n int, err error) {
	var made *matchRooms
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		rows, err := q.LostWaiting(ctx, query.LostWaitingParams{Region: region, Batch: int32(batch)})
		// Of this attempt only.
		n, made = 0, newMatchRooms("")
		if err != nil {
			return err
		}
		for _, tickets := range byTicket(rows) {
			n += len(tickets)
			s.settleLost(q, tickets, connection, made)
		}
		return nil
	})
	if err != nil {
		return 0, frame.Classify(err)
	}
	made.announce(s)
	return n, nil
}

// byTicket returns the rows of each universe, by its tickets.
func byTicket(rows []query.LostWaitingRow) (all [][]query.LostWaitingRow) {
	of := map[ticketRef]int{}
	for _, r := range rows {
		ref := ticketRef{r.TicketRegion, r.Ticket}
		i, known := of[ref]
		if !known {
			i = len(all)
			of[ref], all = i, append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	return all
}

// assignedRooms is the namespace of ids of matches that a director of Open Match made: the id depends on the ticket
// only, so that it gets one room.
var assignedRooms = uuid.MustParse("6f1d2d0e-6b5c-4e0b-9f63-6e6578697321")

// settleLost defers what becomes of the sessions of one ticket.
func (s *Store) settleLost(q *query.Queries, lost []query.LostWaitingRow, connection func([]byte) (string, error),
	all *matchRooms) {
	first := lost[0]
	endpoint, err := connection(first.Assignment)
	// Without an assignment, or with one that nobody can read, there is no server to invite the sessions to.
	if len(first.Assignment) == 0 || err != nil {
		query.QueueExec(q.Deferred(), (*query.Queries).ForgetWaiting, query.ForgetWaitingParams{
			TicketRegion: first.TicketRegion, Tickets: []string{first.Ticket}, Reasons: []string{reasonOf(first)},
			Told: []uuid.UUID{},
			Lost: true, Silent: []string{},
		})
		for _, r := range lost {
			all.wake(r.Region, r.Session)
		}
		return
	}
	// Rooms of its own for each ticket; all only collects the replicas to wake.
	made := newMatchRooms(first.TicketRegion)
	m := matchedRoom{matchID: uuid.NewSHA1(assignedRooms, []byte(first.TicketRegion+" "+first.Ticket))}
	m.matched = lobby.Matched{MatchID: m.matchID.String(), AskedSize: int(first.Size)}
	if endpoint != "" {
		m.matched.GameServer = &lobby.Server{Endpoint: endpoint}
	}
	var sessions []query.WaitingOfTicketsRow
	for _, r := range lost {
		sessions = append(sessions, query.WaitingOfTicketsRow{
			Region: r.Region, Session: r.Session, Ticket: r.Ticket, Project: r.Project, Player: r.Player, Sub: r.Sub,
			RoomType: r.RoomType, Size: r.Size, Lobby: r.Lobby,
		})
		all.wake(r.Region, r.Session)
	}
	made.add(s, m, sessions)
	made.write(q)
}

// reasonOf returns why a ticket left the queue, for the room that queued with it.
func reasonOf(r query.LostWaitingRow) string {
	switch {
	case r.Reason != "":
		return r.Reason
	case r.State != "" && TicketState(r.State).Final():
		return r.State
	}
	return reasonDeleted
}

// PauseForgottenTickets pauses the tickets of suspended sessions, at most batch, that were in a match when the sessions
// were suspended and are in the queue again. Errors: Unavailable.
func (s *Store) PauseForgottenTickets(ctx context.Context, region string, batch int) (n int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		ids, err := q.SuspendedAndQueued(ctx,
			query.SuspendedAndQueuedParams{Region: region, Batch: int32(batch), PendingFor: s.cfg.Timing.PendingFor})
		n = len(ids)
		s.pauseSessions(q, region, slices.Compact(ids), true)
		return err
	})
	return n, frame.Classify(err)
}

// ForgetExpiredWaits deletes what sessions were told of tickets that left the queue more than five minutes ago, at most
// batch rows. Errors: Unavailable.
func (s *Store) ForgetExpiredWaits(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.ForgetExpiredWaits(ctx, query.ForgetExpiredWaitsParams{Region: region, Batch: int32(batch)})
	return int(n), frame.Classify(err)
}
