package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// DeliverTicketOutcomes notifies rooms of what became of the tickets with which their members queued, and returns the
// number of outcomes, at most batch. A room that queues again by now is not notified of its former ticket. Any number of
// workers may call DeliverTicketOutcomes at the same time. Errors: Unavailable.
func (s *Store) DeliverTicketOutcomes(ctx context.Context, region string, batch int) (delivered int, err error) {
	var turn *lobbyTurn
	err = lockingSessions(func(further []string) error {
		return s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
			turn = nil // an earlier attempt was rolled back
			outcomes, err := q.LobbyOutcomes(ctx, query.LobbyOutcomesParams{Region: region, Batch: int32(batch)})
			delivered = len(outcomes)
			if err != nil || delivered == 0 {
				return err
			}
			turn, err = s.deliverOutcomes(ctx, q, region, outcomes, further)
			return err
		})
	})
	if err != nil {
		return 0, frame.Classify(err)
	}
	if turn != nil {
		s.wakeReplicas(turn)
	}
	return delivered, nil
}

// deliverOutcomes runs the actions by which rooms learn of the outcomes of their tickets, and forgets the outcomes. It
// returns nil if no room waits for an outcome.
func (s *Store) deliverOutcomes(ctx context.Context, q *query.Queries, region string,
	outcomes []query.LobbyOutcomesRow, further []string) (*lobbyTurn, error) {
	forget := query.ForgetOutcomesParams{Region: region}
	var all []uuid.UUID
	for _, o := range outcomes {
		all = append(all, o.Lobby)
		forget.Lobbies = append(forget.Lobbies, o.Lobby)
		forget.Tickets = append(forget.Tickets, o.Ticket)
	}
	// Read before the rooms are locked, since the steps must be known then. Rooms that queue again are not notified
	// of their former ticket.
	queuedBefore, err := q.RoomsThatQueue(ctx, query.RoomsThatQueueParams{Region: region, Lobbies: all})
	if err != nil {
		return nil, err
	}
	var steps []lobbyStep
	for _, o := range outcomes {
		// Without an id the room has ended: its outcome is only forgotten.
		if !slices.Contains(queuedBefore, o.Lobby) && o.LobbyID != "" {
			steps = append(steps, lobbyStep{LobbyUID: o.Lobby,
				action: LobbyAction{Region: region, ProjectID: o.Project, RoomID: o.LobbyID,
					Act: outcomeAction(o, s.cfg.RoomTypes)}})
		}
	}
	var turn *lobbyTurn
	if len(steps) > 0 {
		if turn, err = s.actIn(ctx, q, region, steps, further); err != nil {
			return nil, err
		}
		// Read again under the locks of the rooms.
		queuedAfter, err := q.RoomsThatQueue(ctx, query.RoomsThatQueueParams{Region: region, Lobbies: all})
		if err != nil {
			return nil, err
		}
		// A room has queued between the two readings, and has a step in this transaction: decide again without it.
		if len(queuedAfter) > len(queuedBefore) {
			return nil, frame.ErrRolledBack
		}
	}
	// All outcomes, also those of rooms that are not notified.
	query.QueueExec(q.Deferred(), (*query.Queries).ForgetOutcomes, forget)
	return turn, nil
}

// outcomeAction returns the action by which a room learns of an outcome.
func outcomeAction(o query.LobbyOutcomesRow, types *lobby.Types) lobby.Action {
	if o.MatchID != nil {
		return types.MarkMatched(o.MatchID.String(), o.Room)
	}
	return types.MarkUnqueued(o.Reason, o.Detail)
}

// EndMatchRooms lets rooms of matches know that the session of the director in which they play has ended, and returns
// their number, at most batch. Any number of workers may call it at the same time. Errors: Unavailable.
func (s *Store) EndMatchRooms(ctx context.Context, region string, batch int) (n int, err error) {
	var turn *lobbyTurn
	err = lockingSessions(func(further []string) error {
		return s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
			turn = nil // an earlier attempt was rolled back
			ended, err := q.RoomsOfEndedSessions(ctx,
				query.RoomsOfEndedSessionsParams{Region: region, Batch: int32(batch)})
			n = len(ended)
			if err != nil || n == 0 {
				return err
			}
			forget := query.ForgetSessionOfRoomsParams{Region: region}
			steps := make([]lobbyStep, n)
			for i, r := range ended {
				steps[i] = lobbyStep{LobbyUID: r.Uid,
					action: LobbyAction{Region: region, ProjectID: r.Project, RoomID: r.ID,
						Act: s.cfg.RoomTypes.EndMatch()}}
				forget.Uids = append(forget.Uids, r.Uid)
			}
			if turn, err = s.actIn(ctx, q, region, steps, further); err != nil {
				return err
			}
			// In the transaction of the actions, so that each room is notified once.
			query.QueueExec(q.Deferred(), (*query.Queries).ForgetSessionOfRooms, forget)
			return nil
		})
	})
	if err != nil {
		return 0, frame.Classify(err)
	}
	if turn != nil {
		s.wakeReplicas(turn)
	}
	return n, nil
}
