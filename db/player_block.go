package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// maxBlocked bounds the players whom a player has blocked.
const maxBlocked = 500

// PlayerBlock names two players of a project of the realtime lobby.
type PlayerBlock struct {
	Region, Project string
	Player, Blocked string
}

// BlockPlayer keeps the invitations of another player from a player, and ends those that are open. The other player is
// not notified. Errors: Invalid for the player itself and for names that cannot be stored; Conflict, "too_many_blocks";
// Unavailable.
func (s *Store) BlockPlayer(ctx context.Context, b PlayerBlock) error {
	if b.Player == b.Blocked || b.Blocked == "" || !isStorable(b.Blocked) {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "player",
			Detail: "must be the name of another player"}
	}
	blocked, err := s.q.BlockPlayer(ctx, query.BlockPlayerParams{Region: b.Region, Project: b.Project,
		Player: b.Player, Blocked: b.Blocked, Most: maxBlocked})
	if err == nil && !blocked {
		return fault.New(fault.Conflict, "too_many_blocks", "a player blocks at most %d others", maxBlocked)
	}
	return frame.Classify(err)
}

// UnblockPlayer undoes BlockPlayer; a player that was not blocked is no error. Errors: Unavailable.
func (s *Store) UnblockPlayer(ctx context.Context, b PlayerBlock) error {
	if !isStorable(b.Blocked) {
		return nil
	}
	return frame.Classify(s.q.UnblockPlayer(ctx, query.UnblockPlayerParams(b)))
}

// BlockedPlayers returns the players whom a player has blocked, sorted. Errors: Unavailable.
func (s *Store) BlockedPlayers(ctx context.Context, region, project, player string) ([]string, error) {
	blocked, err := s.q.BlockedPlayers(ctx,
		query.BlockedPlayersParams{Region: region, Project: project, Player: player})
	return blocked, frame.Classify(err)
}
