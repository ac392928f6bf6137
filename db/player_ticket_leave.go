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

// CancelPlayerTicket takes the ticket of a player out of the queue, for its whole party. What it returns holds on all
// replicas: the ticket is in no match, or it has been before. The room of the realtime lobby that queued with it leaves
// the queue in the same transaction. A ticket whose players are being asked stays: declines reports the match that the
// caller is to decline. Errors: NotFound where the player is no member; Conflict, "matched", where a cycle of Open
// Match has the ticket; Unavailable. A ticket that has left already is no error.
func (s *Store) CancelPlayerTicket(ctx context.Context, region, id, sub string) (declines uuid.UUID, err error) {
	if !IssuedHere(region, TicketID, id) {
		return uuid.Nil, ticketUnknown(id)
	}
	c := cancelling{universe: region, ticketID: id, playerSub: sub}
	for range frame.MaxConflictRetries {
		// Without a room, the ticket has left by now. With one, nothing was changed yet.
		err = s.cancelTicket(ctx, &c)
		if err != nil || c.lobbyUID == nil {
			break
		}
		// In a conflict the room has changed since the ticket was read. With beside, the room knew nothing of the
		// ticket: the next round takes it out alone.
		err = s.cancelInLobby(ctx, &c)
		if !frame.IsConflict(err) && !c.leavesAlone {
			break
		}
	}
	return c.declinedMatch, frame.Classify(err)
}

// cancelling is a ticket on its way out of the queue.
type cancelling struct {
	universe, ticketID, playerSub string
	leavesAlone                   bool // the ticket leaves without its room, which knows nothing of it

	declinedMatch uuid.UUID  // the match that the player has to decline instead; zero: none
	region        string     // of the session or the lobby
	sessionID     string     // a session of the realtime lobby that waits with it; "": none
	lobbyUID      *uuid.UUID // whose members wait with it: the room has to be locked first
}

// cancelTicket cancels a ticket, unless it is that of a room.
func (s *Store) cancelTicket(ctx context.Context, c *cancelling) error {
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
				Told: []uuid.UUID{}, Silent: []string{},
			})
		}
		_, err = s.leaveQueue(ctx, q, c.universe, []leaving{{c.ticketID, TicketCancelled, reasonByMember, true}})
		return err
	})
	if left && err == nil {
		s.notifyLeft(c.universe)
		if c.sessionID != "" {
			s.notifyRealtime(c.region, c.sessionID)
		}
	}
	return err
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
	// The action has dequeued nothing.
	c.leavesAlone = len(turn.queueChanges) == 0
	s.announce(turn)
	return nil
}

// checkMayLeave decides whether a ticket that is locked may be cancelled. A match that was accepted by all and waits
// for a server ends when one of its tickets leaves.
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
	if state == "proposed" {
		return id, err
	}
	return uuid.Nil, err
}

// PauseTickets stops tickets from being candidates, without a loss of their place, and ResumeTickets makes them
// candidates again. Tickets that are in a match, gone, or so already are left as they are. Errors: Unavailable.
func (s *Store) PauseTickets(ctx context.Context, region string, ids []string) error {
	return s.pauseTickets(ctx, region, ids, true)
}

// ResumeTickets ends what [Store.PauseTickets] began.
func (s *Store) ResumeTickets(ctx context.Context, region string, ids []string) error {
	return s.pauseTickets(ctx, region, ids, false)
}

func (s *Store) pauseTickets(ctx context.Context, region string, ids []string, pause bool) error {
	moved, err := s.q.PauseTickets(ctx, query.PauseTicketsParams{
		Region: region, Ids: issuedTickets(region, ids), Pause: pause, PendingFor: s.cfg.Timing.PendingFor,
	})
	if len(moved) > 0 {
		s.Notify(TopicQueue, region)
		s.Notify(TopicTicketEvents, region)
	}
	return frame.Classify(err)
}
