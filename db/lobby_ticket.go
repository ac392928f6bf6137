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

// LobbyTicketRequest asks for a ticket with which the members of a room of the realtime lobby wait together.
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
	if err != nil {
		return nil, frame.Classify(err)
	}
	if !slices.Contains(players, caller) {
		return nil, lobbyUnknown()
	}
	return players, nil
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
	// The sessions of the members keep the ticket alive: no caller polls for it.
	r.Ticket.LeaseTTL = 0
	var request *roomTicketRequest
	var turn *lobbyTurn // nil: the request has got its ticket before
	err = lockingSessions(func(further []string) error {
		return s.frame.InTxWithRetries(ctx, func(q *query.Queries) (err error) {
			// Made for each attempt, without anything of an earlier one.
			request, turn = &roomTicketRequest{universe: universe, ticket: r.Ticket}, nil
			request.answer, err = lockTicketKey(ctx, q, r.Ticket)
			if err != nil || request.answer.ID != "" {
				return err
			}
			turn, err = s.queueMembers(ctx, q, region, r, request, further)
			return err
		})
	})
	if err != nil {
		return PlayerTicketAnswer{}, frame.Classify(err)
	}
	if turn != nil {
		s.wakeReplicas(turn)
	}
	return request.answer, nil
}

// lockTicketKey locks the idempotency key of a request, and returns the ticket that the request has got before; the
// zero value: none. Errors: those of ticketKeys; Unavailable where another transaction has locked the key.
func lockTicketKey(ctx context.Context, q *query.Queries, r PlayerTicketRequest) (a PlayerTicketAnswer, err error) {
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

// queueMembers queues the members of a room with a ticket.
func (s *Store) queueMembers(ctx context.Context, q *query.Queries, region string, r LobbyTicketRequest,
	request *roomTicketRequest, further []string) (*lobbyTurn, error) {
	profileName := ""
	if len(r.Ticket.ProfileNames) > 0 {
		profileName = r.Ticket.ProfileNames[0]
	}
	size, err := s.matchSize(ctx, q, request.universe, profileName)
	if err != nil {
		return nil, err
	}
	act := s.cfg.RoomTypes.EnqueueFromOutside(r.Ticket.Caller, r.Ticket.Party,
		lobby.Queue{RoomType: s.cfg.RoomTypes.TypeOfProfile(profileName),
			MatchSize: lobby.ClampSize(float64(max(size, len(r.Ticket.Party))))})
	step := lobbyStep{ticketRequest: request,
		action: LobbyAction{Region: region, ProjectID: r.ProjectID, RoomID: r.RoomID, Act: act}}
	turn, err := s.actIn(ctx, q, region, []lobbyStep{step}, further)
	if err != nil {
		return nil, err
	}
	return turn, lobbyTicketError(turn.stepResults[0].err)
}

// matchSize returns the most players of a match of a profile; 0 if the profile does not exist, or a newer release wrote
// it.
func (s *Store) matchSize(ctx context.Context, q *query.Queries, universe, name string) (players int, err error) {
	live, err := q.LiveVersions(ctx, query.LiveVersionsParams{Region: universe, Names: []string{name}})
	if err != nil || len(live) == 0 {
		return 0, err
	}
	// This turn queues nothing: it reads the profile, which the store may have decoded already.
	t := s.newQueueTurn(q, universe, "")
	if err := t.readProfiles(ctx, live); err != nil || t.profilesByName[name] == nil {
		return 0, err
	}
	for _, team := range t.profilesByName[name].Teams {
		players += team.Max
	}
	return players, nil
}

// lobbyTicketError turns the error of an action that queues a room into an error of the store.
func lobbyTicketError(err error) error {
	refused, ok := errors.AsType[*lobby.Error](err)
	if !ok {
		return err
	}
	switch refused {
	case lobby.ErrNotFound, lobby.ErrNotMember, lobby.ErrWrongType:
		return lobbyUnknown()
	case lobby.ErrNotOwner:
		return fault.New(fault.Forbidden, "not_owner", "only the owner of the room queues its members")
	case lobby.ErrChanged:
		return fault.New(fault.Conflict, "party_changed", "the members of the room have changed")
	}
	return fault.New(fault.Conflict, "lobby_not_ready", "%s", refused.Text)
}
