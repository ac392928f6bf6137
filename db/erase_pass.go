package db

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// erasedAtOnce is how many rows of history a transaction of an erasure changes at most, about.
const erasedAtOnce = 2000

func (p *erasurePass) run(ctx context.Context) (err error) {
	if p.regions, err = p.store.q.ErasureRegions(ctx); err != nil {
		return err
	}
	if err := p.endLobbySessions(ctx); err != nil {
		return err
	}
	for _, player := range p.row.Subs { // the sessions of the lobby are players, too
		one := erasedPlayer{pass: p, player: player, partyKey: partyKey([]string{player})}
		if err := one.run(ctx); err != nil {
			return err
		}
	}
	return p.erasePartiesOfEvents(ctx)
}

// endLobbySessions ends the player's sessions in the realtime lobby. The tickets and seats of a session without a
// profile have its id as their player.
func (p *erasurePass) endLobbySessions(ctx context.Context) error {
	player := p.row.Subs[0]
	for _, region := range p.regions {
		// In parts, as workers end sessions: each transaction locks the rooms of its sessions.
		for {
			var ended []string
			n, err := p.store.endSessions(ctx, region, func(t *sessionTx) (ids []string, err error) {
				ended, err = t.q.LobbySessionsOfPlayer(ctx, query.LobbySessionsOfPlayerParams{
					Region: region, Player: player, Most: sweptSessions})
				return ended, err
			})
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			p.changedRows += int64(n)
			// Their ids count as names of the player from now on.
			if err := p.addSessions(ctx, ended); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSessions makes sessions that have ended players of the erasure. A process that stops before it does so leaves ids
// in history that nothing connects with the player.
func (p *erasurePass) addSessions(ctx context.Context, ended []string) error {
	for _, id := range ended {
		// The erased player may itself be the id of a session, which is the player of those without a profile.
		if id != p.row.Subs[0] {
			p.row.Subs = append(p.row.Subs, id)
		}
	}
	return p.store.q.AddErasedSessions(ctx, query.AddErasedSessionsParams{ID: p.row.ID, Sessions: ended})
}

// erasePartiesOfEvents changes the events of those who were in a party with the player.
func (p *erasurePass) erasePartiesOfEvents(ctx context.Context) error {
	for {
		var left int64
		err := p.inTx(ctx, func(q *query.Queries) (err error) {
			left, err = q.ErasePartiesOfEvents(ctx, query.ErasePartiesOfEventsParams{
				Erasure: p.row.ID, Salt: p.row.Salt, Batch: erasedAtOnce})
			return err
		})
		if err != nil || left == 0 {
			return err
		}
	}
}

// inTx runs statements on a connection of large reads, whose planner uses the GIN indexes by which history finds a
// player. On connections of short transactions bitmap scans are off, so that it would read all of history.
func (p *erasurePass) inTx(ctx context.Context, fn func(q *query.Queries) error) error {
	wide := p.store.frame
	wide.Pool = p.store.readerPool
	return wide.InBulkTxWithRetries(ctx, fn)
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
	for _, erase := range p.eraseBatches() {
		// Each call is a transaction of its own, so that locks of history are held for a moment only.
		for n := int64(1); n > 0; {
			var err error
			if n, err = p.count(ctx, erase); err != nil {
				return err
			}
		}
	}
	return p.eraseOnce(ctx, p.lastStatements())
}

func (p erasedPlayer) eraseOnce(ctx context.Context, statements []eraseRows) error {
	for _, erase := range statements {
		if _, err := p.count(ctx, erase); err != nil {
			return err
		}
	}
	return nil
}

func (p erasedPlayer) count(ctx context.Context, erase eraseRows) (n int64, err error) {
	err = p.pass.inTx(ctx, func(q *query.Queries) (err error) {
		n, err = erase(q, ctx)
		return err
	})
	p.pass.changedRows += n
	return n, err
}

// freeSeats frees the player's seats, also of a player who plays now. The game server sees it in its list of sessions.
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
	if err == nil && len(sessions) > 0 {
		p.pass.store.Notify(TopicCapacity, "")
	}
	return err
}

// leaveQueue takes the player's tickets out of the queue, for their whole parties, as if the player had done it. It also
// does so while the players of a match are asked: the match ends.
func (p erasedPlayer) leaveQueue(ctx context.Context, universe string) error {
	left := 0
	err := p.pass.store.frame.InTxWithRetries(ctx, func(q *query.Queries) error {
		tickets, err := q.TicketsOfErased(ctx, query.TicketsOfErasedParams{Region: universe, Player: p.player})
		left = len(tickets)
		if err != nil || left == 0 {
			return err
		}
		leave := make([]leaving, left)
		reasons := make([]string, left)
		for i, id := range tickets {
			// forced: also out of a match whose players are asked whether they accept it.
			leave[i], reasons[i] = leaving{id, TicketCancelled, reasonByMember, true}, reasonByMember
		}
		query.QueueExec(q.Deferred(), (*query.Queries).ForgetWaiting, query.ForgetWaitingParams{TicketRegion: universe,
			Tickets: tickets, Reasons: reasons, Told: []uuid.UUID{}, Silent: []string{}, Lost: true})
		_, err = p.pass.store.leaveQueue(ctx, q, universe, leave)
		return err
	})
	p.pass.store.notifyQueue(universe, false, left > 0 && err == nil)
	return err
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
		// The statement compares bytes, which may be the player's by chance. Only the decoded body tells.
		if t.IsPlayer || p.isIn(t.Body) {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	err = p.pass.store.frame.InTxWithRetries(ctx, func(q *query.Queries) error {
		gone, err := q.DeleteQueued(ctx, query.DeleteQueuedParams{Region: universe, Ids: ids})
		p.pass.changedRows += int64(len(gone))
		if err != nil {
			return err
		}
		return q.DeleteAssigned(ctx, query.DeleteAssignedParams{Region: universe, Ids: ids})
	})
	p.pass.store.notifyQueue(universe, false, err == nil)
	return err
}

// isIn reports whether the body of a ticket names the player.
func (p erasedPlayer) isIn(body []byte) bool {
	playersOf := p.pass.store.cfg.PlayersOf
	return playersOf == nil || slices.Contains(playersOf(body), p.player)
}

// protobufText returns a text as protobuf encodes it: behind its length.
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
	// Actions like those of members, so that replicas get the changed states as they get all others.
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
	p.pass.store.announce(turn)
	return nil
}

// eraseBatches are the statements of history: each is repeated until it finds nothing.
func (p erasedPlayer) eraseBatches() []eraseRows {
	key, salt := p.pass.row.Key, p.pass.row.Salt
	return []eraseRows{
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseSeatHistory(ctx, query.EraseSeatHistoryParams{Player: p.player, Batch: erasedAtOnce,
				Party: p.partyKey, Erasure: p.pass.row.ID, Salt: salt, Key: key})
		},
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseTicketEvents(ctx,
				query.EraseTicketEventsParams{Player: p.player, Batch: erasedAtOnce, Key: key})
		},
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseTicketHistory(ctx,
				query.EraseTicketHistoryParams{Player: p.player, Batch: erasedAtOnce, Key: key})
		},
		// Where the history keeps hashes instead of names, whatever the setting is today.
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseTicketHistory(ctx,
				query.EraseTicketHistoryParams{Player: historyHash(p.player), Batch: erasedAtOnce, Key: key})
		},
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseEvents(ctx, query.EraseEventsParams{Player: p.player, Batch: erasedAtOnce, Key: key,
				Salt: salt})
		},
	}
}
