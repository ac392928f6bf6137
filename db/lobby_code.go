package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// LobbyOfCode returns the id and the type of the room that has a code, which lobby.ParseCode has read. Errors:
// lobby.ErrCodeUnknown; Unavailable.
func (s *Store) LobbyOfCode(ctx context.Context, region, project, code string) (room, roomType string, err error) {
	if !isStorable(project) {
		return "", "", lobby.ErrCodeUnknown
	}
	found, err := s.q.LobbyOfCode(ctx, query.LobbyOfCodeParams{Region: region, Project: project, Code: code})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", "", lobby.ErrCodeUnknown
	}
	return found.ID, found.Type, frame.Classify(err)
}
