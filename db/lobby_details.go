package db

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// LobbyDetails is a room of the realtime lobby as a backend or an operator sees it. Its JSON is the answer of the
// control API and the output of the command.
type LobbyDetails struct {
	Project    string          `json:"project"`
	Room       string          `json:"room"`
	Type       string          `json:"type"`
	MaxMembers int             `json:"max_members"`
	Private    bool            `json:"private"`
	Locked     bool            `json:"locked"`
	Code       string          `json:"code,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	Members    []LobbyMember   `json:"members"` // in the order in which they joined
	Invited    []string        `json:"invited"` // players
	Banned     []LobbySanction `json:"banned"`  // in force
	Muted      []LobbySanction `json:"muted"`   // in force
}

// LobbyMember is a session that has joined a room.
type LobbyMember struct {
	Session string `json:"session"`
	Player  string `json:"player"`
	Away    bool   `json:"away"` // it has lost its connection
}

// LobbySanction is a player who is banned or muted.
type LobbySanction struct {
	Player string     `json:"player"`
	Until  *time.Time `json:"until,omitempty"` // nil: while the room lives
	Reason string     `json:"reason,omitempty"`
}

// ReadLobby returns a room with its members and its sanctions. Errors: NotFound, "lobby_unknown"; Unavailable.
func (s *Store) ReadLobby(ctx context.Context, project, room string) (LobbyDetails, error) {
	region, err := s.regionOfLobby(ctx, project, room)
	if err != nil {
		return LobbyDetails{}, err
	}
	row, err := s.q.LobbyDetails(ctx, query.LobbyDetailsParams{Region: region, Project: project, ID: room})
	if errors.Is(err, pgx.ErrNoRows) {
		return LobbyDetails{}, lobbyUnknown()
	}
	if err != nil {
		return LobbyDetails{}, frame.Classify(err)
	}
	members, err := s.q.MembersOfLobby(ctx, query.MembersOfLobbyParams{Region: region, Lobby: row.Uid})
	if err != nil {
		return LobbyDetails{}, frame.Classify(err)
	}
	d := LobbyDetails{Project: project, Room: room, Type: row.Type, MaxMembers: int(row.MaxMembers),
		Private: row.Private, Locked: row.Locked, Code: row.Code, CreatedAt: row.CreatedAt.UTC(),
		Members: []LobbyMember{}, Invited: []string{}, Banned: []LobbySanction{}, Muted: []LobbySanction{}}
	if row.Metadata != "" {
		d.Metadata = json.RawMessage(row.Metadata)
	}
	d.addMembers(members)
	return d, d.addSanctions(row.Sanctions, s.Now())
}

func (d *LobbyDetails) addMembers(rows []query.MembersOfLobbyRow) {
	for _, m := range rows {
		// Invitations are rows of the same table, without a place among the members.
		if m.JoinOrder == nil {
			d.Invited = append(d.Invited, m.Player)
			continue
		}
		d.Members = append(d.Members, LobbyMember{m.Session, m.Player, m.Away})
	}
}

// addSanctions adds the sanctions of a JSON document that are in force; "" has none.
func (d *LobbyDetails) addSanctions(document string, now time.Time) error {
	if document == "" {
		return nil
	}
	var all []lobby.Sanction
	if err := json.Unmarshal([]byte(document), &all); err != nil {
		return err
	}
	for _, s := range all {
		// A sanction stays in the document after its end, until the next change of the room's sanctions.
		if s.IsOver(now) {
			continue
		}
		sanction := LobbySanction{Player: s.Player, Reason: s.Reason}
		if !s.EndsAt.IsZero() {
			sanction.Until = &s.EndsAt
		}
		if s.IsBan {
			d.Banned = append(d.Banned, sanction)
		} else {
			d.Muted = append(d.Muted, sanction)
		}
	}
	return nil
}
