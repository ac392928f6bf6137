package db

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// lobbyQueueChange says that the members of a room enter or leave the queue. Sessions that enter it are locked.
type lobbyQueueChange struct {
	Lobby   uuid.UUID
	Project string
	Members []lobby.Member
	Queue   *lobby.Queue // nil: they leave the queue
	// with which they enter it; nil: one is made for Queue. A transaction with it has no other change
	Request *askedTicket
	Ticket  string // with which they leave it; "": any
}

// queueLobby makes and removes the tickets of rooms, in the transaction that changes the rooms. A room that may not
// queue stays as its action left it; a worker lets it know the reason afterwards. Call notifyTickets after the commit.
func (s *Store) queueLobby(ctx context.Context, q *query.Queries, region string, changes []lobbyQueueChange) error {
	t := s.newWaits(q, region)
	if k := changes[0].Request; k != nil {
		t.tickets.region, t.add.TicketRegion = k.universe, k.universe
	}
	refused := query.RefuseLobbyParams{Region: region}
	wishes, err := t.readLobbies(ctx, changes, &refused)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if err := t.changeRoom(c, wishes[i], &refused); err != nil {
			return err
		}
	}
	if len(refused.Lobbies) > 0 {
		query.QueueExec(q.Deferred(), (*query.Queries).RefuseLobby, refused)
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	t.pauseAway(changes)
	return nil
}

// readLobbies reads what rooms and their members wait for, and returns the wish of each change: nil for one without, or
// that is refused.
func (t *waits) readLobbies(ctx context.Context, changes []lobbyQueueChange,
	refused *query.RefuseLobbyParams) ([]*wish, error) {
	wishes := make([]*wish, len(changes))
	var wanted []*wish
	for i, c := range changes {
		t.roomsTold = append(t.roomsTold, c.Lobby)
		if c.Queue == nil {
			continue
		}
		w, err := t.wishOf(t.region, c)
		if err != nil {
			addLobbyToRefuse(refused, c.Lobby, err)
			continue
		}
		wishes[i], wanted = w, append(wanted, w)
		for _, m := range c.Members {
			t.quietSessions = append(t.quietSessions, m.Session)
		}
	}
	return wishes, t.read(ctx, &tx.Pipeline{}, t.quietSessions, t.roomsTold, wanted)
}

// changeRoom decides about the ticket of a room.
func (t *waits) changeRoom(c lobbyQueueChange, w *wish, refused *query.RefuseLobbyParams) error {
	if w == nil {
		return t.leaveRoom(c)
	}
	if c.Request != nil {
		return t.enqueueAsked(c.Request, w)
	}
	_, busy, err := t.enqueue(w)
	if busy {
		err = fault.New(fault.Conflict, "party_conflict", "a member queues in another room at the same time")
	}
	if err != nil {
		addLobbyToRefuse(refused, c.Lobby, err)
	}
	return nil
}

// wishOf returns the ticket that the members of a room want.
func (s *Store) wishOf(region string, c lobbyQueueChange) (*wish, error) {
	if c.Request != nil {
		return c.wishFor(), nil
	}
	if s.cfg.Queueing == nil {
		return nil, fault.NewUnavailable("sessions do not queue here", nil)
	}
	w, err := s.wish(region, c.Project, *c.Queue, c.Members)
	if err == nil {
		w.lobby = c.Lobby
	}
	return w, err
}

func addLobbyToRefuse(p *query.RefuseLobbyParams, lobby uuid.UUID, err error) {
	reason, detail := "unavailable", ""
	if e, ok := errors.AsType[*fault.Error](err); ok {
		reason, detail = e.Code, strings.TrimSpace(e.Field+" "+e.Detail)
	}
	p.Lobbies, p.Reasons, p.Details = append(p.Lobbies, lobby), append(p.Reasons, reason), append(p.Details, detail)
}

// leaveRoom lets the ticket of a room leave the queue. It fails as a conflict if only another ticket may leave.
func (t *waits) leaveRoom(c lobbyQueueChange) error {
	for _, r := range t.waiting {
		if r.Lobby == nil || *r.Lobby != c.Lobby || waitsElsewhere(r) {
			continue
		}
		if c.Ticket != "" && (c.Ticket != r.Ticket || r.Pending) {
			return frame.ErrRolledBack
		}
		t.leave(r, reasonByMember)
	}
	return nil
}

// pauseAway pauses the new tickets of rooms with members that are suspended.
func (t *waits) pauseAway(changes []lobbyQueueChange) {
	var away []string
	for _, c := range changes {
		for _, m := range c.Members {
			if c.Queue != nil && m.Away {
				away = append(away, m.Session)
			}
		}
	}
	if len(away) > 0 {
		t.pauseSessions(t.q, t.region, away, true)
	}
}
