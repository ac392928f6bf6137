package db

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/rooms"
)

// matchedLobby is the room of a match that has just been made.
type matchedLobby struct {
	*rooms.Room

	Match      uuid.UUID
	Size       int       // as it was asked for
	GameRegion string    // of the director's session; "": it has none
	Session    uuid.UUID // of the director
}

// addLobbies defers the inserts of rooms and their invited members to the commit, and returns the uids of the rooms. It locks nothing.
// After the commit, notifyRealtime wakes the replicas of the invited sessions.
func (s *Store) addLobbies(_ *Queries, _ string, made []matchedLobby) ([]uuid.UUID, error) {
	return make([]uuid.UUID, len(made)), errNotBuilt
}
