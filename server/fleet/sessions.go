package fleet

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// SessionStore is the part of db.Store that serves GET /fleet/sessions.
type SessionStore interface {
	ReadRosterState(ctx context.Context, ref db.InstanceRef) (db.RosterState, error)
	SessionRosters(ctx context.Context, state db.RosterState,
		after string) (rosters []db.SessionRoster, more bool, err error)
	SubscribeSessions(state db.RosterState) (wake <-chan struct{}, stop func())
}

// Sessions configures GET /fleet/sessions. Store is required.
type Sessions struct {
	Store      SessionStore
	MaxWaiters int // game servers that wait at a time
	// CallTimeout bounds each read of a waiting call; 0 means 900 ms.
	CallTimeout time.Duration
	// Stopping ends waiting calls when it is closed; nil: never.
	Stopping <-chan struct{}

	pollEvery time.Duration // between two reads without a wake-up; 0 means 5 s
}

type sessionFace struct {
	options Sessions
	waiters *waiters
}

// rosters is the answer, a page of the instance's sessions.
type rosters struct {
	InstanceID string          `json:"instance_id"`
	Cursor     string          `json:"cursor"`
	Sessions   []sessionRoster `json:"sessions"`
	Next       string          `json:"next,omitempty"` // where the next page begins
}

type sessionRoster struct {
	SessionID      string          `json:"session_id"`
	SessionHandle  string          `json:"session_handle"`
	Mode           string          `json:"mode"`
	PlayerCount    int             `json:"player_count"`
	MaxPlayers     int             `json:"max_players"`
	OpenedAt       time.Time       `json:"opened_at"`
	MatchID        *uuid.UUID      `json:"match_id,omitempty"`
	Profile        string          `json:"profile,omitempty"`
	ProfileVersion int             `json:"profile_version,omitempty"`
	Chosen         json.RawMessage `json:"chosen,omitempty"`
	Data           json.RawMessage `json:"data,omitempty"`
	Bots           map[string]int  `json:"bots,omitempty"` // by team; absent if no bots fill the match
	Players        []player        `json:"players"`
}

type player struct {
	Sub        string          `json:"sub"`
	State      string          `json:"state"`
	Team       string          `json:"team,omitempty"`
	Role       string          `json:"role,omitempty"`
	TicketID   string          `json:"ticket_id,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	// Sources says for each attribute who vouches for it. It has no entry for what only the client says.
	Sources map[string]string `json:"sources,omitempty"`
}

// readPage returns the sessions after the session with the id after, at least as new as the digest of state.
func (f sessionFace) readPage(ctx context.Context, id string, state db.RosterState, after string) (rosters, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.CallTimeout)
	defer cancel()
	read, more, err := f.options.Store.SessionRosters(ctx, state, after)
	if err != nil {
		return rosters{}, err
	}
	out := rosters{InstanceID: id, Cursor: state.Digest, Sessions: make([]sessionRoster, len(read))}
	for i, r := range read {
		out.Sessions[i] = sessionRoster{
			r.SessionID, r.SessionHandle, r.Mode, r.PlayerCount, r.MaxPlayers, r.OpenedAt.UTC(), r.MatchID,
			r.ProfileName, r.ProfileVersion, r.ChosenValues, r.ProfileData, r.BotsByTeam,
			make([]player, len(r.Players)),
		}
		for n, p := range r.Players {
			out.Sessions[i].Players[n] = player{p.Sub, p.SeatState, p.Team, p.Role, p.TicketID, p.Attributes,
				p.AttributeSources}
		}
	}
	// The next page begins after an id, and not at a number: sessions that open or close between two pages shift no
	// others.
	if more {
		out.Next = out.Sessions[len(out.Sessions)-1].SessionID
	}
	return out, nil
}
