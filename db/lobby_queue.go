package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/rooms"
)

// lobbyQueueChange says that the members of a room enter or leave the queue. Sessions that enter it are locked.
type lobbyQueueChange struct {
	Lobby   uuid.UUID
	Project string
	Members []rooms.Member
	Queue   *rooms.Queue // nil: they leave the queue
}

// queueLobby makes and removes the tickets of rooms, in the transaction that changes the rooms.
func (s *Store) queueLobby(_ context.Context, _ *Queries, _ string, _ []lobbyQueueChange) error {
	return errNotBuilt
}
