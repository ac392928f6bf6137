package db

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// LobbySaying is a message that a room remembers.
type LobbySaying struct {
	Number    int64 // in the room, from 1
	SaidAt    time.Time
	SessionID string // the session that said it
	Player    string // of the session; the session's id for a client without a name
	Data      json.RawMessage
}

// LobbySayings returns what a room remembers behind a number, to a session that is its member: up to lobby.MaxSayings
// messages, the oldest first. Errors: lobby.ErrNotMember, also without the room; Unavailable.
func (s *Store) LobbySayings(ctx context.Context, region, project, room, session string,
	after int64) ([]LobbySaying, error) {
	if !lobby.ValidID(room) || !isStorable(project) {
		return nil, lobby.ErrNotMember
	}
	rows, err := s.q.LobbySayings(ctx, query.LobbySayingsParams{Region: region, Project: project, ID: room,
		Reader: session, After: after})
	if err != nil {
		return nil, frame.Classify(err)
	}
	// A member gets at least one row.
	if len(rows) == 0 {
		return nil, lobby.ErrNotMember
	}
	said := make([]LobbySaying, 0, len(rows))
	for _, r := range rows {
		// A row with the number 0 is no message: the room remembers nothing new.
		if r.Number > 0 {
			said = append(said, LobbySaying{r.Number, r.At, r.Session, r.Player, json.RawMessage(r.Data)})
		}
	}
	return said, nil
}
