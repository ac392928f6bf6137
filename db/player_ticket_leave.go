package db

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// CancelPlayerTicket takes the ticket of a player out of the queue, for its whole party. Once it has returned, no
// replica puts the ticket into a match. The room of the realtime lobby that queued with it leaves the queue in the same
// transaction. While the ticket is in a ready check, it stays: declines is the match that the caller has to decline.
// Errors: NotFound for an id that is none of a ticket of the universe; Conflict, "matched", where a cycle of Open Match
// has the ticket; Unavailable. A ticket that has left already, or whose player is no member, is no error: nothing is
// changed.
func (s *Store) CancelPlayerTicket(ctx context.Context, universe, id, sub string) (declines uuid.UUID, err error) {
	if !IssuedHere(universe, TicketID, id) {
		return uuid.Nil, ticketUnknown(id)
	}
	c := cancelling{universe: universe, ticketID: id, playerSub: sub}
	for range frame.MaxConflictRetries {
		err = s.cancelOutsideLobby(ctx, &c)
		if err != nil || c.lobbyUID == nil {
			return c.declinedMatch, frame.Classify(err)
		}
		// The ticket is that of a room, and nothing was changed yet.
		err = s.cancelInLobby(ctx, &c)
		// After a conflict the room has changed since the ticket was read. A room that does not know the ticket leaves
		// nothing: the next round takes the ticket out without the room.
		if !frame.IsConflict(err) && !c.leavesAlone {
			return uuid.Nil, frame.Classify(err)
		}
	}
	return uuid.Nil, fault.NewUnavailable("the room that queued with the ticket changes too often to leave the queue", err)
}

// cancelling is a ticket on its way out of the queue.
type cancelling struct {
	universe, ticketID, playerSub string
	leavesAlone                   bool // the ticket leaves without its room, which does not know it

	declinedMatch uuid.UUID  // the match that the player has to decline instead; zero: none
	region        string     // of the session or the lobby
	sessionID     string     // a session of the realtime lobby that waits with the ticket; "": none
	lobbyUID      *uuid.UUID // the room whose members wait with the ticket, which has to be locked first; nil: none
}

// cancelOutsideLobby takes a ticket out of the queue, unless it is that of a room, for which it sets c.lobbyUID.
func (s *Store) cancelOutsideLobby(ctx context.Context, c *cancelling) error {
	var left bool
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		c.declinedMatch, c.lobbyUID, left = uuid.Nil, nil, false
		held, err := q.LockPlayerTicket(ctx,
			query.LockPlayerTicketParams{Region: c.universe, ID: c.ticketID, Sub: c.playerSub,
				PendingFor: s.cfg.Timing.PendingFor})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // it has left, or is another's: the caller reads it next
		}
		if err != nil {
			return err
		}
		c.declinedMatch, err = checkMayLeave(ctx, q, c.universe, held)
		if err != nil || c.declinedMatch != uuid.Nil {
			return err
		}
		c.region, c.sessionID = held.SessionRegion, held.Session
		c.lobbyUID = held.Lobby
		if c.lobbyUID != nil && !c.leavesAlone {
			return nil
		}
		left, c.lobbyUID = true, nil
		if c.sessionID != "" {
			query.QueueExec(q.Deferred(), (*query.Queries).ForgetWaiting, query.ForgetWaitingParams{
				TicketRegion: c.universe, Tickets: []string{c.ticketID}, Reasons: []string{reasonByMember},
				Aware: []uuid.UUID{}, Silent: []string{},
			})
		}
		_, err = s.leaveQueue(ctx, q, c.universe, []leavingTicket{{ticketID: c.ticketID, finalState: TicketCancelled,
			finalReason: reasonByMember, isForced: true}})
		return err
	})
	if err != nil || !left {
		return err
	}
	s.notifyLeft(c.universe)
	if c.sessionID != "" {
		s.notifyRealtime(c.region, c.sessionID)
	}
	return nil
}

// cancelInLobby lets a room leave the queue, with the ticket. Errors: a conflict if the room waits with another ticket
// by now, or the ticket is in a match.
func (s *Store) cancelInLobby(ctx context.Context, c *cancelling) error {
	var turn *lobbyTurn
	err := lockingSessions(func(further []string) error {
		return s.frame.InTx(ctx, func(q *query.Queries) (err error) {
			step := lobbyStep{LobbyUID: *c.lobbyUID, cancellableTicket: c.ticketID,
				action: LobbyAction{Region: c.region, Act: s.cfg.RoomTypes.CancelQueued()}}
			turn, err = s.actIn(ctx, q, c.region, []lobbyStep{step}, further)
			return err
		})
	})
	if err != nil {
		return err
	}
	// The action has taken nothing out of the queue.
	c.leavesAlone = len(turn.queueChanges) == 0
	s.wakeReplicas(turn)
	return nil
}

// checkMayLeave decides whether a ticket that is locked may be cancelled. It returns the match whose ready check the
// ticket is in, which the player has to decline instead; zero: the ticket may leave, also out of a match that all have
// accepted and that waits for a server: the match then ends. Errors: Conflict.
func checkMayLeave(ctx context.Context, q *query.Queries, region string,
	held query.LockPlayerTicketRow) (declines uuid.UUID, err error) {
	if !held.Pending {
		return uuid.Nil, nil
	}
	id, ours := readyCheckOf(held.MatchedIn)
	if !ours {
		return uuid.Nil, fault.New(fault.Conflict, "matched",
			"the ticket is in a match that an Open Match director assigns soon")
	}
	state, err := q.ReadyCheckState(ctx, query.ReadyCheckStateParams{Region: region, ID: id})
	if err != nil || state != "proposed" {
		return uuid.Nil, err
	}
	return id, nil
}

// PauseTickets stops tickets from being candidates; they keep their place. Tickets that are in a match, have left the
// queue or are paused stay as they are. Errors: Unavailable.
func (s *Store) PauseTickets(ctx context.Context, region string, ids []string) error {
	return s.pauseTickets(ctx, region, ids, true)
}

// ResumeTickets makes paused tickets candidates again. Errors: Unavailable.
func (s *Store) ResumeTickets(ctx context.Context, region string, ids []string) error {
	return s.pauseTickets(ctx, region, ids, false)
}

func (s *Store) pauseTickets(ctx context.Context, region string, ids []string, pause bool) error {
	changed, err := s.q.PauseTickets(ctx, query.PauseTicketsParams{
		Region: region, Ids: issuedTickets(region, ids), Pause: pause, PendingFor: s.cfg.Timing.PendingFor,
	})
	if len(changed) > 0 {
		s.Notify(TopicQueue, region)
		s.Notify(TopicTicketEvents, region)
	}
	return frame.Classify(err)
}
