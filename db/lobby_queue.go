package db

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// queueLobby makes and removes the tickets of rooms, in the transaction that changes the rooms and has locked them. A
// room that may not queue stays as its action left it; a worker lets it know the reason afterwards. Call wake on the
// result after the commit. Errors: those of enter for a change with a TicketRequest.
func (s *Store) queueLobby(ctx context.Context, q *query.Queries, region string,
	changes []lobbyQueueChange) (*queueTurn, error) {
	// A room without a request queues in the one universe of the realtime lobby.
	universe := s.sessionUniverse()
	if r := changes[0].TicketRequest; r != nil {
		universe = r.universe
	}
	t := s.newQueueTurn(q, universe, region)
	refused := query.RefuseLobbyParams{Region: region}
	parties, err := t.readLobbies(ctx, changes, &refused)
	if err != nil {
		return nil, err
	}
	if err := t.refuseUnadmitted(ctx, changes, parties, &refused); err != nil {
		return nil, err
	}
	for i, c := range changes {
		if err := t.changeRoom(c, parties[i], &refused); err != nil {
			return nil, err
		}
	}
	// The worker that lets rooms know what became of their tickets also lets these rooms know why they do not queue.
	deferRows(q.Deferred(), len(refused.Lobbies), (*query.Queries).RefuseLobby, refused)
	if err := t.write(ctx); err != nil {
		return nil, err
	}
	t.passPlaces(changes)
	s.pauseTicketsOf(q, region, awaySessions(changes))
	return t, nil
}

// readLobbies reads what rooms and their members wait for. It returns the party of each change: nil for a room that
// leaves the queue, or that it adds to refused.
func (t *queueTurn) readLobbies(ctx context.Context, changes []lobbyQueueChange,
	refused *query.RefuseLobbyParams) ([]*party, error) {
	parties := make([]*party, len(changes))
	var entering []*party
	for i, c := range changes {
		// A session that waits in the place of another needs no party: it only learns of the ticket.
		if c.SessionID != "" {
			t.awareSessions = append(t.awareSessions, c.SessionID)
			continue
		}
		// The room learns of the change by its own action, so that no worker has to let it know.
		t.awareRooms = append(t.awareRooms, c.LobbyUID)
		if c.Queue == nil {
			continue
		}
		p, err := t.store.roomParty(t.region, c)
		if err != nil {
			// The room has no profile to ask for, or the body of its ticket cannot be made: the room learns why.
			addLobbyToRefuse(refused, c.LobbyUID, err)
			continue
		}
		parties[i], entering = p, append(entering, p)
		for _, m := range c.Members {
			t.awareSessions = append(t.awareSessions, m.Session)
		}
	}
	return parties, t.read(ctx, &tx.Pipeline{}, entering, t.awareSessions, t.awareRooms)
}

// changeRoom decides about the ticket of a room.
func (t *queueTurn) changeRoom(c lobbyQueueChange, p *party, refused *query.RefuseLobbyParams) error {
	if c.SessionID != "" {
		t.leaveOwn(c)
		return nil
	}
	if p == nil {
		// The room leaves the queue. So does a refused room: its action has ended what it waited for before.
		return t.leaveRoom(c)
	}
	answer, err := t.enter(p)
	if c.TicketRequest != nil {
		c.TicketRequest.answer = answer
		return err
	}
	if errors.Is(err, errPartyBusy) {
		err = fault.New(fault.Conflict, "party_conflict", "a member queues in another room at the same time")
	}
	if err != nil {
		addLobbyToRefuse(refused, c.LobbyUID, err)
	}
	return nil
}

// addLobbyToRefuse adds a room, which a worker lets know the error.
func addLobbyToRefuse(p *query.RefuseLobbyParams, lobby uuid.UUID, err error) {
	reason, detail := "unavailable", ""
	if e, ok := errors.AsType[*fault.Error](err); ok {
		reason, detail = e.Code, strings.TrimSpace(e.Field+" "+e.Detail)
	}
	p.Lobbies = append(p.Lobbies, lobby)
	p.Reasons = append(p.Reasons, reason)
	p.Details = append(p.Details, detail)
}

// leaveRoom lets the ticket of a room leave the queue. It fails as a conflict if the change names a ticket, and the
// room has another one by now, or the named ticket is in a match.
func (t *queueTurn) leaveRoom(c lobbyQueueChange) error {
	for _, r := range t.waitingSessions {
		if !isOfRoom(r, c.LobbyUID) || isInCycle(r) {
			continue
		}
		// Decided again in another transaction, before which the ticket has left the queue, or has come into a match.
		if c.TicketID != "" && (c.TicketID != r.Ticket || r.Pending) {
			return frame.ErrRolledBack
		}
		t.leave(r, reasonByMember)
	}
	return nil
}

// leaveOwn takes the ticket of a session that waits by itself out of the queue, since the session now waits with its
// room. The ticket of another room in which it waits stays: this room may have a match of which it does not know yet.
func (t *queueTurn) leaveOwn(c lobbyQueueChange) {
	if r, waits := t.waitOf(c.SessionID); waits && r.Lobby == nil && !isInCycle(r) {
		t.leave(r, reasonElsewhere)
	}
}

// passPlaces lets sessions wait in the place of other sessions of their players. The new sessions are connected,
// so that paused tickets are candidates again.
func (t *queueTurn) passPlaces(changes []lobbyQueueChange) {
	var old []string
	p := query.SucceedWaitingParams{Region: t.region}
	for _, c := range changes {
		if c.SessionID != "" {
			p.Lobbies = append(p.Lobbies, c.LobbyUID)
			p.Sessions = append(p.Sessions, c.SessionID)
			p.Predecessors = append(p.Predecessors, c.PredecessorID)
			old = append(old, c.PredecessorID)
		}
	}
	if len(old) == 0 {
		return
	}
	query.QueueExec(t.q.Deferred(), (*query.Queries).HoldTicketsOfSessions,
		query.HoldTicketsOfSessionsParams{Region: t.region, Sessions: old})
	// After the lock, so that this statement sees what other transactions have done to the same tickets.
	query.QueueExec(t.q.Deferred(), (*query.Queries).SucceedWaiting, p)
	t.store.resumeTicketsOf(t.q, t.region, p.Sessions)
}

// awaySessions returns the suspended members of rooms that enter the queue, whose new tickets are paused.
func awaySessions(changes []lobbyQueueChange) (sessions []string) {
	for _, c := range changes {
		for _, m := range c.Members {
			if c.Queue != nil && m.IsAway {
				sessions = append(sessions, m.Session)
			}
		}
	}
	return sessions
}

// cancelledRooms returns the rooms of which a member wants to leave the queue.
func (t *lobbyTurn) cancelledRooms() (rooms []uuid.UUID) {
	for _, c := range t.queueChanges {
		if c.isCancelled {
			rooms = append(rooms, c.LobbyUID)
		}
	}
	return rooms
}

// answerCancels sets the error of actions by which members wanted to leave the queue although their match was found
// already; a worker lets the room know of the match. Call it after the commit.
func (t *lobbyTurn) answerCancels() {
	for i := range t.stepResults {
		if r := &t.stepResults[i]; r.cancelsTicket && slices.Contains(t.matchedRooms, r.answer.LobbyUID) {
			r.err = lobby.ErrMatched
		}
	}
}
