package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/rooms"
)

// lobbyQueueChange says that the members of a room enter or leave the queue. Their sessions are locked.
type lobbyQueueChange struct {
	lobby               uuid.UUID
	project, room, kind string // kind is the room's type
	members             []rooms.Member
	queue               *rooms.Queue // nil: they leave the queue
	reason              string       // why they leave
}

// queueLobby makes and removes the tickets of rooms, in the transaction that changes the rooms.
func (s *Store) queueLobby(_ context.Context, _ *Queries, _ string, _ []lobbyQueueChange) error {
	return errNotBuilt
}
