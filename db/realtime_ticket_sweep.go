package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// WaitingRegions returns the regions of the realtime lobby with sessions that wait for a match, rooms that must be
// notified of what became of their tickets, or rooms of matches with a server. Errors: Unavailable.
func (s *Store) WaitingRegions(ctx context.Context) ([]string, error) {
	regions, err := s.q.WaitingRegions(ctx)
	return regions, frame.Classify(err)
}

// SettleLostTickets ends the waiting of sessions whose ticket left the queue without them, of at most batch tickets: a
// ticket expired, an operator deleted it, or a director of Open Match assigned it. It returns the number of sessions.
// The sessions of an assigned ticket are invited into a room with the server that connection finds in the assignment.
// Any number of workers may call it at the same time. Errors: Unavailable.
func (s *Store) SettleLostTickets(ctx context.Context, region string, batch int,
	connection func(assignment []byte) (string, error)) (n int, err error) {
	var toWake *matchRooms
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		// Made for each attempt, with nothing in it of an earlier one.
		n, toWake = 0, newMatchRooms("")
		rows, err := q.LostWaiting(ctx, query.LostWaitingParams{Region: region, Batch: int32(batch)})
		if err != nil {
			return err
		}
		n = len(rows)
		for _, lost := range byTicket(rows) {
			s.settleLost(q, lost, connection, toWake)
		}
		return nil
	})
	if err != nil {
		return 0, frame.Classify(err)
	}
	toWake.wakeReplicas(s)
	return n, nil
}

// byTicket groups rows by their ticket, in the order of the first row of each.
func byTicket(rows []query.LostWaitingRow) (groups [][]query.LostWaitingRow) {
	indexes := map[ticketRef]int{}
	for _, r := range rows {
		ref := ticketRef{r.TicketRegion, r.Ticket}
		i, known := indexes[ref]
		if !known {
			i = len(groups)
			indexes[ref], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// assignedMatches is the namespace of the ids of matches that a director of Open Match made. Such an id depends only on
// the ticket, so that repeated attempts make one room for the ticket.
var assignedMatches = uuid.MustParse("6f1d2d0e-6b5c-4e0b-9f63-6e6578697321")

// settleLost defers the statements that end the waiting of the sessions of one ticket. It adds the sessions to toWake.
func (s *Store) settleLost(q *query.Queries, lost []query.LostWaitingRow, connection func([]byte) (string, error),
	toWake *matchRooms) {
	for _, r := range lost {
		toWake.addSessionToWake(r.Region, r.Session)
	}
	first := lost[0]
	if len(first.Assignment) == 0 {
		forgetLost(q, first)
		return
	}
	endpoint, err := connection(first.Assignment)
	// An assignment that cannot be read names no server to which the sessions could be invited.
	if err != nil {
		forgetLost(q, first)
		return
	}
	s.inviteAssigned(q, lost, endpoint)
}

// forgetLost defers the statement that ends the waiting with a ticket that no match has.
func forgetLost(q *query.Queries, r query.LostWaitingRow) {
	query.QueueExec(q.Deferred(), (*query.Queries).ForgetWaiting, query.ForgetWaitingParams{
		TicketRegion: r.TicketRegion, Tickets: []string{r.Ticket}, Reasons: []string{reasonOf(r)}, Lost: true,
		// No room and no session has been notified before. nil would be NULL.
		Aware: []uuid.UUID{}, Silent: []string{},
	})
}

// inviteAssigned defers the statements that invite the sessions of an assigned ticket into a room; endpoint is that of
// its game server, "" without one.
func (s *Store) inviteAssigned(q *query.Queries, assigned []query.LostWaitingRow, endpoint string) {
	first := assigned[0]
	m := matchedRoom{matchID: uuid.NewSHA1(assignedMatches, []byte(first.TicketRegion+" "+first.Ticket))}
	m.lobbyMatch = lobby.Matched{MatchID: m.matchID.String(), AskedSize: int(first.Size)}
	if endpoint != "" {
		m.lobbyMatch.GameServer = &lobby.Server{Endpoint: endpoint}
	}
	sessions := make([]query.WaitingOfTicketsRow, 0, len(assigned))
	for _, r := range assigned {
		sessions = append(sessions, query.WaitingOfTicketsRow{
			Region: r.Region, Session: r.Session, Ticket: r.Ticket, Project: r.Project, Player: r.Player, Sub: r.Sub,
			RoomType: r.RoomType, Size: r.Size, Lobby: r.Lobby,
		})
	}
	rooms := newMatchRooms(first.TicketRegion)
	rooms.addMatch(s, m, sessions)
	rooms.write(q)
}

// reasonOf returns why a ticket left the queue, for the room that queued with it: the reason of its last event, else
// its final state. A ticket without either was deleted.
func reasonOf(r query.LostWaitingRow) string {
	switch {
	case r.Reason != "":
		return r.Reason
	case TicketState(r.State).IsFinal():
		return r.State
	}
	return reasonDeleted
}

// PauseForgottenTickets pauses tickets that were in a match when their sessions were suspended, and are in the queue
// again. It returns the number of these sessions, at most batch. Errors: Unavailable.
func (s *Store) PauseForgottenTickets(ctx context.Context, region string, batch int) (n int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		ids, err := q.SuspendedAndQueued(ctx,
			query.SuspendedAndQueuedParams{Region: region, Batch: int32(batch), PendingFor: s.cfg.Timing.PendingFor})
		if err != nil {
			return err
		}
		n = len(ids)
		s.pauseTicketsOf(q, region, slices.Compact(ids))
		return nil
	})
	return n, frame.Classify(err)
}

// ForgetExpiredWaits deletes the notices for sessions of tickets that left the queue more than five minutes ago, at
// most batch rows. Errors: Unavailable.
func (s *Store) ForgetExpiredWaits(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.ForgetExpiredWaits(ctx, query.ForgetExpiredWaitsParams{Region: region, Batch: int32(batch)})
	return int(n), frame.Classify(err)
}
