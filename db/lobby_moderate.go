package db

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// LobbyModeration is what a backend or an operator does in a room of the realtime lobby.
type LobbyModeration struct {
	Project, Room string
	Act           lobby.Action
	Kind          string         // of the event, one of those that begin with "lobby."
	Actor         string         // of the event
	Detail        map[string]any // of the event, beside project and room
}

// ModerateLobby acts in a room in the name of nobody who is in it, and records an event in the same transaction. Errors:
// NotFound, "lobby_unknown", without the project or the room; those of the action, see [lobby.Error]; Unavailable.
func (s *Store) ModerateLobby(ctx context.Context, m LobbyModeration) error {
	region, err := s.ProjectRegion(ctx, m.Project)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && !lobby.ValidID(m.Room):
		return lobbyUnknown()
	case err != nil:
		return err
	}
	step := lobbyStep{LobbyAction: LobbyAction{Region: region, Project: m.Project, Room: m.Room, Act: m.Act}}
	var turn *lobbyTurn
	err = lockingSessions(func(further []string) error {
		return s.frame.InTxWithRetries(ctx, func(q *query.Queries) (err error) {
			if turn, err = s.actIn(ctx, q, region, []lobbyStep{step}, further); err != nil {
				return err
			}
			if err := turn.results[0].Err; err != nil {
				return err
			}
			return m.log(ctx, q, region)
		})
	})
	if err != nil {
		return moderationError(err)
	}
	s.announce(turn)
	return nil
}

func moderationError(err error) error {
	refused, ok := errors.AsType[*lobby.Error](err)
	switch {
	case !ok:
		return frame.Classify(err)
	case refused == lobby.ErrNotFound:
		return lobbyUnknown()
	}
	return refused
}

func (m LobbyModeration) log(ctx context.Context, q *query.Queries, region string) error {
	facts := map[string]any{"project": m.Project, "room": m.Room}
	maps.Copy(facts, m.Detail)
	detail, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	return q.LogProject(ctx, query.LogProjectParams{Region: region, Kind: m.Kind, Actor: m.Actor, Detail: detail})
}

// LobbyDetails is a room as a backend or an operator sees it.
type LobbyDetails struct {
	Type              string
	MaxMembers        int
	Private, IsLocked bool
	Metadata          json.RawMessage // nil: none
	Code              string
	Sanctions         []lobby.Sanction // also those that are over
	Members           []lobby.Member   // in the order in which they joined
	Invited           []lobby.Member
	CreatedAt         time.Time
}

// LobbyDetails returns a room. Errors: NotFound, "lobby_unknown"; Unavailable.
func (s *Store) LobbyDetails(ctx context.Context, project, room string) (d LobbyDetails, err error) {
	region, err := s.ProjectRegion(ctx, project)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && !lobby.ValidID(room):
		return d, lobbyUnknown()
	case err != nil:
		return d, err
	}
	row, err := s.q.LobbyDetails(ctx, query.LobbyDetailsParams{Region: region, Project: project, ID: room})
	if errors.Is(err, pgx.ErrNoRows) {
		return d, lobbyUnknown()
	}
	if err != nil {
		return d, frame.Classify(err)
	}
	members, err := s.q.MembersOfLobby(ctx, query.MembersOfLobbyParams{Region: region, Lobby: row.Uid})
	if err != nil {
		return d, frame.Classify(err)
	}
	return lobbyDetailsOf(row, members)
}

func lobbyDetailsOf(row query.LobbyDetailsRow, members []query.MembersOfLobbyRow) (d LobbyDetails, err error) {
	d = LobbyDetails{Type: row.Type, MaxMembers: int(row.MaxMembers), Private: row.Private, IsLocked: row.Locked,
		Code: row.Code, CreatedAt: row.CreatedAt}
	if row.Metadata != "" {
		d.Metadata = json.RawMessage(row.Metadata)
	}
	if row.Sanctions != "" {
		err = json.Unmarshal([]byte(row.Sanctions), &d.Sanctions)
	}
	for _, m := range members {
		member := lobby.Member{Session: m.Session, Player: m.Player, Away: m.Away}
		if m.JoinOrder == nil {
			d.Invited = append(d.Invited, member)
			continue
		}
		member.Order = *m.JoinOrder
		d.Members = append(d.Members, member)
	}
	return d, err
}
