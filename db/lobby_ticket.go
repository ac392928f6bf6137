package db

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// LobbyTicketRequest asks for a ticket with which the members of a room of the realtime lobby, a party or a lobby, wait
// together.
type LobbyTicketRequest struct {
	// PlayerTicketRequest has the room's owner as the Caller and the players of all members as the Party. The Lease is
	// ignored: the ticket stays while the sessions of the members live.
	PlayerTicketRequest

	Project, Room string
}

// LobbyPlayers returns the players of a room's members, sorted, to one of them. Errors: NotFound, "lobby_unknown", for
// others and without the room; Unavailable.
func (s *Store) LobbyPlayers(ctx context.Context, project, room, caller string) ([]string, error) {
	region, err := s.ProjectRegion(ctx, project)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && !lobby.ValidID(room):
		return nil, lobbyUnknown()
	case err != nil:
		return nil, err
	}
	players, err := s.q.PlayersOfLobby(ctx, query.PlayersOfLobbyParams{Region: region, Project: project, ID: room})
	if err == nil && !slices.Contains(players, caller) {
		return nil, lobbyUnknown()
	}
	return players, classify(err)
}

// CreateLobbyTicket puts the members of a room into the queue, in the transaction in which the room becomes queued:
// from then on, each change by which the room leaves the queue cancels the ticket in the same transaction. The same
// request returns the ticket that is there. Errors: those of [Store.CreatePlayerTicket]; NotFound, "lobby_unknown";
// Forbidden, "not_owner"; Conflict, "party_changed" where the members are not the Party, "lobby_not_ready" where a
// member is away or not ready.
func (s *Store) CreateLobbyTicket(ctx context.Context, universe string,
	r LobbyTicketRequest) (PlayerTicketAnswer, error) {
	region, err := s.ProjectRegion(ctx, r.Project)
	switch {
	case fault.Is(err, fault.NotFound):
		return PlayerTicketAnswer{}, lobbyUnknown()
	case err != nil:
		return PlayerTicketAnswer{}, err
	}
	r.Lease = 0
	var asked *askedTicket
	var turn *lobbyTurn
	err = lockingSessions(func(further []string) error {
		return s.inTxWithRetries(ctx, func(q *query.Queries) (err error) {
			asked, turn = &askedTicket{universe: universe, request: r.PlayerTicketRequest}, nil
			if done, err := asked.replay(ctx, q); done || err != nil {
				return err
			}
			turn, err = s.askIn(ctx, q, region, r, asked, further)
			return err
		})
	})
	if err != nil {
		return PlayerTicketAnswer{}, classify(err)
	}
	if turn != nil {
		s.announce(turn)
		s.notifyQueue(universe, true, true)
	}
	return asked.answer, nil
}

// askIn queues the members of a room with a ticket.
func (s *Store) askIn(ctx context.Context, q *query.Queries, region string, r LobbyTicketRequest, asked *askedTicket,
	further []string) (*lobbyTurn, error) {
	var profile string
	if len(r.Profiles) > 0 {
		profile = r.Profiles[0]
	}
	act := s.cfg.Rooms.AskedFor(r.Caller, r.Party,
		lobby.Queue{RoomType: s.cfg.Rooms.TypeOf(profile), Size: lobby.Size(float64(len(r.Party)))})
	step := lobbyStep{request: asked, LobbyAction: LobbyAction{Region: region, Project: r.Project, Room: r.Room,
		Act: act}}
	turn, err := s.actIn(ctx, q, region, []lobbyStep{step}, further)
	if err != nil {
		return nil, err
	}
	return turn, lobbyTicketError(turn.results[0].Err)
}

// askedTicket is a ticket that a caller outside of a room has made for its members.
type askedTicket struct {
	universe string
	request  PlayerTicketRequest
	answer   PlayerTicketAnswer
}

// replay answers from the stored answer of the idempotency key.
func (k *askedTicket) replay(ctx context.Context, q *query.Queries) (done bool, err error) {
	r := k.request
	if r.IdempotencyKey == "" {
		return false, nil
	}
	var p tx.Pipeline
	var granted []int32
	var stored []query.StoredAnswersRow
	query.Queue(&p, &granted, (*query.Queries).TryLocks, query.TryLocksParams{Requests: []int32{0}, Locks: r.locks()})
	query.Queue(&p, &stored, (*query.Queries).StoredAnswers,
		query.StoredAnswersParams{Callers: []string{r.Caller}, Keys: []string{r.IdempotencyKey}})
	switch err := q.Send(ctx, &p); {
	case err != nil:
		return false, err
	case len(granted) == 0:
		return false, fault.NewUnavailable("a call with the same Idempotency-Key is being decided", nil)
	case len(stored) == 0:
		return false, nil
	case !bytes.Equal(stored[0].RequestHash, r.RequestHash):
		return false, fault.New(fault.Mismatch, "idempotency_mismatch",
			"this Idempotency-Key was used with another body")
	}
	var answer storedTicket
	err = json.Unmarshal(stored[0].Answer, &answer)
	k.answer.ID = answer.ID
	return true, err
}

// enqueueAsked makes a ticket that was asked for, unless the room waits with it already. Errors: those of
// CreateLobbyTicket.
func (t *waits) enqueueAsked(k *askedTicket, w *wish) error {
	for _, r := range t.waiting {
		if r.Lobby == nil || *r.Lobby != w.lobby || !r.Queued {
			continue
		}
		if k.request.sameTicket(t.tickets.rows[k.request.Caller]) != r.Ticket {
			return ofTicket(r.Ticket, fault.New(fault.Conflict, "ticket_exists",
				"the room waits with another ticket: cancel it first"))
		}
		k.answer.ID = r.Ticket
		return nil
	}
	_, busy, err := t.enqueue(w)
	k.answer = w.answer
	if busy {
		return frame.ErrRolledBack
	}
	return err
}

// wishFor returns the wish of a ticket that was asked for.
func (c lobbyQueueChange) wishFor() *wish {
	w := &wish{project: c.Project, queue: *c.Queue, lobby: c.Lobby, members: c.Members, request: c.Request.request}
	for _, m := range c.Members {
		w.subs = append(w.subs, m.Player)
	}
	return w
}

func lobbyUnknown() *fault.Error {
	return fault.New(fault.NotFound, "lobby_unknown", "there is no such room, or you are not a member")
}

// lobbyTicketError translates the errors of rooms.
func lobbyTicketError(err error) error {
	refused, ok := errors.AsType[*lobby.Error](err)
	switch {
	case !ok:
		return err
	case refused == lobby.ErrNotFound || refused == lobby.ErrNotMember || refused == lobby.ErrWrongType:
		return lobbyUnknown()
	case refused == lobby.ErrNotOwner:
		return fault.New(fault.Forbidden, "not_owner", "only the owner of the room queues its members")
	case refused == lobby.ErrChanged:
		return fault.New(fault.Conflict, "party_changed", "the members of the room have changed")
	}
	return fault.New(fault.Conflict, "lobby_not_ready", "%s", refused.Text)
}
