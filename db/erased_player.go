package db

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// erasedPlayer is a pass over the rows that name one player, or one session of the realtime lobby as a player.
type erasedPlayer struct {
	pass *erasurePass

	player   string
	partyKey uuid.UUID // the key of a party of this player alone
}

func (p erasedPlayer) run(ctx context.Context) error {
	for _, region := range p.pass.regions {
		if err := p.freeSeats(ctx, region); err != nil {
			return err
		}
		if err := p.leaveQueue(ctx, region); err != nil {
			return err
		}
		if err := p.deleteForeignTickets(ctx, region); err != nil {
			return err
		}
		if err := p.forgetInRooms(ctx, region); err != nil {
			return err
		}
	}
	if err := p.eraseOnce(ctx, p.statements()); err != nil {
		return err
	}
	for _, statement := range p.historyStatements() {
		if err := p.eraseAll(ctx, statement); err != nil {
			return err
		}
	}
	return p.eraseOnce(ctx, p.lastStatements())
}

func (p erasedPlayer) eraseOnce(ctx context.Context, statements []eraseRows) error {
	for _, statement := range statements {
		if _, err := p.erase(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// eraseAll repeats a statement until it finds no more rows. Each time is a transaction of its own, so that locks of
// history are held for a moment only.
func (p erasedPlayer) eraseAll(ctx context.Context, statement eraseRows) error {
	for {
		n, err := p.erase(ctx, statement)
		if err != nil || n == 0 {
			return err
		}
	}
}

// erase runs a statement, and returns how many rows it has changed or deleted.
func (p erasedPlayer) erase(ctx context.Context, statement eraseRows) (n int64, err error) {
	err = p.pass.inReaderTx(ctx, func(q *query.Queries) (err error) {
		n, err = statement(q, ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	p.pass.changedRows += n
	return n, nil
}

// freeSeats frees the player's seats, even while the player plays. Game servers see that in their lists of sessions.
func (p erasedPlayer) freeSeats(ctx context.Context, region string) error {
	var sessions []uuid.UUID
	err := p.pass.store.frame.InTxWithRetries(ctx, func(q *query.Queries) (err error) {
		sessions, err = q.SeatsOfErased(ctx, query.SeatsOfErasedParams{Region: region, Player: p.player})
		if err != nil || len(sessions) == 0 {
			return err
		}
		// Sessions are locked before seats, in the order of their ids, as reports of game servers do.
		_, err = q.LockReportedSessions(ctx, query.LockReportedSessionsParams{Region: region, Ids: sessions})
		if err != nil {
			return err
		}
		free := query.ReleaseSeatsParams{Region: region, SessionIds: sessions, EvenConnected: true,
			Reason: "player erased"}
		for range sessions {
			free.Subs = append(free.Subs, p.player)
		}
		if _, err := q.ReleaseSeats(ctx, free); err != nil {
			return err
		}
		_, err = q.CloseEmptySessions(ctx, query.CloseEmptySessionsParams{Region: region, Ids: sessions})
		return err
	})
	if err != nil {
		return err
	}
	if len(sessions) > 0 {
		p.pass.store.Notify(TopicCapacity, "")
	}
	return nil
}

// leaveQueue takes the player's tickets out of the queue, for their whole parties, as if the player had cancelled them.
// Tickets whose players are asked whether they accept a match leave as well, which ends the match.
func (p erasedPlayer) leaveQueue(ctx context.Context, universe string) error {
	left := 0
	err := p.pass.store.frame.InTxWithRetries(ctx, func(q *query.Queries) error {
		tickets, err := q.TicketsOfErased(ctx, query.TicketsOfErasedParams{Region: universe, Player: p.player})
		left = len(tickets)
		if err != nil || left == 0 {
			return err
		}
		leave := make([]leavingTicket, left)
		reasons := make([]string, left)
		for i, id := range tickets {
			leave[i] = leavingTicket{ticketID: id, finalState: TicketCancelled, finalReason: reasonByMember, isForced: true}
			reasons[i] = reasonByMember
		}
		query.QueueExec(q.Deferred(), (*query.Queries).ForgetWaiting, query.ForgetWaitingParams{TicketRegion: universe,
			Tickets: tickets, Reasons: reasons, Aware: []uuid.UUID{}, Silent: []string{}, Lost: true})
		_, err = p.pass.store.leaveQueue(ctx, q, universe, leave)
		return err
	})
	if err != nil {
		return err
	}
	if left > 0 {
		p.pass.store.notifyLeft(universe)
	}
	return nil
}

// deleteForeignTickets deletes tickets of Open Match clients that name the player in their extension, or as their
// player, whether they wait or are assigned.
func (p erasedPlayer) deleteForeignTickets(ctx context.Context, universe string) error {
	rows, err := p.pass.store.q.TicketsThatName(ctx, query.TicketsThatNameParams{
		Region: universe, Player: p.player, Encoded: protobufText(p.player)})
	if err != nil {
		return err
	}
	var ids []string
	for _, t := range rows {
		// The statement compares bytes of the body, which may be equal by chance. Only the decoded body shows whether it names
		// the player.
		if t.IsPlayer || p.isIn(t.Body) {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var deleted int
	err = p.pass.store.frame.InTxWithRetries(ctx, func(q *query.Queries) error {
		gone, err := q.DeleteQueued(ctx, query.DeleteQueuedParams{Region: universe, Ids: ids})
		if err != nil {
			return err
		}
		deleted = len(gone)
		return q.DeleteAssigned(ctx, query.DeleteAssignedParams{Region: universe, Ids: ids})
	})
	if err != nil {
		return err
	}
	p.pass.changedRows += int64(deleted)
	p.pass.store.notifyLeft(universe)
	return nil
}

// isIn reports whether the body of a ticket names the player.
func (p erasedPlayer) isIn(body []byte) bool {
	playersOf := p.pass.store.cfg.PlayersOf
	return playersOf == nil || slices.Contains(playersOf(body), p.player)
}

// protobufText returns a text as protobuf encodes it: its length, then the text.
func protobufText(text string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(text))), text...)
}

// forgetInRooms lets rooms of the realtime lobby forget the player, whose sessions have left them.
func (p erasedPlayer) forgetInRooms(ctx context.Context, region string) error {
	rooms, err := p.pass.store.q.LobbiesThatName(ctx, query.LobbiesThatNameParams{Region: region, Player: p.player})
	if err != nil || len(rooms) == 0 {
		return err
	}
	steps := make([]lobbyStep, len(rooms))
	// Written as actions of members are, so that replicas read the changed states as they read all others.
	for i, room := range rooms {
		steps[i] = lobbyStep{LobbyUID: room, action: LobbyAction{Region: region,
			Act: p.pass.store.cfg.RoomTypes.ForgetPlayer(p.player, p.pass.row.Key)}}
	}
	var turn *lobbyTurn
	err = lockingSessions(func(further []string) error {
		return p.pass.store.frame.InTxWithRetries(ctx, func(q *query.Queries) (err error) {
			turn, err = p.pass.store.actIn(ctx, q, region, steps, further)
			return err
		})
	})
	if err != nil {
		return err
	}
	p.pass.changedRows += int64(len(rooms))
	p.pass.store.wakeReplicas(turn)
	for _, result := range turn.stepResults {
		// A room that has ended names nobody any more. After any other error the erasure is tried again.
		hasEnded := errors.Is(result.err, lobby.ErrNotFound) || errors.Is(result.err, errRoomEnds)
		if result.err != nil && !hasEnded {
			return result.err
		}
	}
	return nil
}
