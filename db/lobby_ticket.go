package db

import (
	"context"
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
	// Ticket has the room's owner as the Caller and the players of all members as the Party. The Lease is ignored: the
	// ticket stays while the sessions of the members live.
	Ticket            PlayerTicketRequest
	ProjectID, RoomID string
}

// LobbyPlayers returns the players of a room's members, sorted, to one of them. Errors: NotFound, "lobby_unknown", for
// others and without the room; Unavailable.
func (s *Store) LobbyPlayers(ctx context.Context, project, room, caller string) ([]string, error) {
	region, err := s.regionOfLobby(ctx, project, room)
	if err != nil {
		return nil, err
	}
	players, err := s.q.PlayersOfLobby(ctx, query.PlayersOfLobbyParams{Region: region, Project: project, ID: room})
	if err == nil && !slices.Contains(players, caller) {
		return nil, lobbyUnknown()
	}
	return players, frame.Classify(err)
}

// CreateLobbyTicket puts the members of a room into the queue, in the transaction in which the room becomes queued:
// from then on, each change by which the room leaves the queue cancels the ticket in the same transaction. The same
// request returns the ticket that is there. Errors: those of [Store.CreatePlayerTicket]; NotFound, "lobby_unknown";
// Forbidden, "not_owner"; Conflict, "party_changed" where the members are not the Party, "lobby_not_ready" where a
// member is away or not ready.
func (s *Store) CreateLobbyTicket(ctx context.Context, universe string,
	r LobbyTicketRequest) (PlayerTicketAnswer, error) {
	region, err := s.regionOfLobby(ctx, r.ProjectID, r.RoomID)
	if err != nil {
		return PlayerTicketAnswer{}, err
	}
	// Before the transaction: a caller that is not admitted locks no room.
	if err := s.admit(ctx, r.Ticket.arrival(universe)); err != nil {
		return PlayerTicketAnswer{}, err
	}
	// The sessions of the members keep the ticket alive: nobody polls for it.
	r.Ticket.LeaseTTL = 0
	var asked *roomTicketRequest
	var turn *lobbyTurn
	err = lockingSessions(func(further []string) error {
		return s.frame.InTxWithRetries(ctx, func(q *query.Queries) (err error) {
			// Begun anew by each attempt of the transaction.
			asked, turn = &roomTicketRequest{universe: universe, ticket: r.Ticket}, nil
			asked.answer, err = replayTicket(ctx, q, r.Ticket)
			if err != nil || asked.answer.ID != "" {
				return err
			}
			turn, err = s.askIn(ctx, q, region, r, asked, further)
			return err
		})
	})
	if err != nil {
		return PlayerTicketAnswer{}, frame.Classify(err)
	}
	if turn != nil {
		s.announce(turn)
	}
	return asked.answer, nil
}

// replayTicket locks the idempotency key of a request, and returns the ticket that it has got before; the zero value:
// none. Errors: those of ticketKeys; Unavailable where another transaction has the key.
func replayTicket(ctx context.Context, q *query.Queries, r PlayerTicketRequest) (a PlayerTicketAnswer, err error) {
	if r.IdempotencyKey == "" {
		return a, nil
	}
	var p tx.Pipeline
	var keys ticketKeys
	keys.lock(&p, r)
	if err := q.Send(ctx, &p); err != nil {
		return a, err
	}
	if !keys.isLocked(0, r) {
		return a, fault.NewUnavailable("a call with the same Idempotency-Key is being decided", nil)
	}
	return keys.replay(r)
}

// askIn queues the members of a room with a ticket.
func (s *Store) askIn(ctx context.Context, q *query.Queries, region string, r LobbyTicketRequest,
	asked *roomTicketRequest, further []string) (*lobbyTurn, error) {
	var named string
	if len(r.Ticket.ProfileNames) > 0 {
		named = r.Ticket.ProfileNames[0]
	}
	size, err := s.matchSize(ctx, q, asked.universe, named)
	if err != nil {
		return nil, err
	}
	act := s.cfg.RoomTypes.AskedFor(r.Ticket.Caller, r.Ticket.Party,
		lobby.Queue{RoomType: s.cfg.RoomTypes.TypeOf(named),
			MatchSize: lobby.ClampSize(float64(max(size, len(r.Ticket.Party))))})
	step := lobbyStep{ticketRequest: asked,
		action: LobbyAction{Region: region, ProjectID: r.ProjectID, RoomID: r.RoomID,
			Act: act}}
	turn, err := s.actIn(ctx, q, region, []lobbyStep{step}, further)
	if err != nil {
		return nil, err
	}
	return turn, lobbyTicketError(turn.stepResults[0].Err)
}

// matchSize returns the most players of a match of a profile; 0 if nobody knows it.
func (s *Store) matchSize(ctx context.Context, q *query.Queries, universe, name string) (players int, err error) {
	live, err := q.LiveVersions(ctx, query.LiveVersionsParams{Region: universe, Names: []string{name}})
	if err != nil || len(live) == 0 {
		return 0, err
	}
	// For the profiles that it keeps decoded; nothing is queued here.
	t := s.newQueueTurn(q, universe, "")
	if err := t.readProfiles(ctx, live); err != nil || t.profilesByName[name] == nil {
		return 0, err
	}
	for _, team := range t.profilesByName[name].Teams {
		players += team.Max
	}
	return players, nil
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
