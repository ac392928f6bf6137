package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/rooms"
)

// LobbyPos names the rows of a room's log that come after a position.
type LobbyPos struct {
	Lobby uuid.UUID
	Pos   int64
}

// LobbySnapshot is a room as its members see it.
type LobbySnapshot struct {
	Lobby uuid.UUID
	rooms.Snapshot
}

// LobbyQuery asks for a page of the rooms of a project, by id.
type LobbyQuery struct {
	Region, Project string
	Type            string // "": all types
	After           string // the Next of the page before; "": the first page
	Limit           int    // 1 to 1,000; others mean 1,000
}

// LobbyPage is a page of rooms. A page may have fewer rooms than its limit, or none, and still be followed by another.
type LobbyPage struct {
	Rooms []LobbyInfo
	Next  string // "": it is the last page
}

// LobbyInfo is a room of a [LobbyPage].
type LobbyInfo struct {
	ID, Type string
	Members  int
}

// MaxLobbySnapshots bounds the rooms of a call of LobbySnapshots.
const MaxLobbySnapshots = 256

// LobbyLog returns the rows of rooms' logs behind the given positions, by room and position. It returns up to about 4 MiB and 256 rows of a room:
// call it again with the new positions until it returns none. A row that was deleted is missing: the rows of a room are contiguous only if the
// first one is that of the next position. Errors: Unavailable.
func (s *Store) LobbyLog(_ context.Context, _ string, _ []LobbyPos) ([]LobbyRow, error) {
	return nil, errNotBuilt
}

// LobbyPositions returns the positions of the last rows of rooms' logs. A room that has ended is missing. Errors: Unavailable.
func (s *Store) LobbyPositions(_ context.Context, _ string, _ []uuid.UUID) (map[uuid.UUID]int64, error) {
	return nil, errNotBuilt
}

// LobbySnapshots reads rooms, each as it was after one transaction. A room that has ended is missing. Errors: Invalid for more than
// MaxLobbySnapshots rooms; Unavailable.
func (s *Store) LobbySnapshots(_ context.Context, _ string, _ []uuid.UUID) ([]LobbySnapshot, error) {
	return nil, errNotBuilt
}

// ListLobbies returns a page of the rooms of a project that are not private. Errors: TooMany, Unavailable.
func (s *Store) ListLobbies(_ context.Context, _ LobbyQuery) (LobbyPage, error) {
	return LobbyPage{}, errNotBuilt
}
