package agents

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
)

// game holds the rooms and the status of a simulated process. It is safe for concurrent use.
type game struct {
	mu       sync.Mutex
	snapshot wire.Snapshot // its rooms are current only if hash is set
	hash     string        // of the snapshot; empty after a change
	rooms    map[string]wire.Room
}

func newGame(s wire.Snapshot) *game {
	s.RoomTypes = slices.SortedFunc(slices.Values(s.RoomTypes), wire.Compare)
	return &game{snapshot: s, rooms: map[string]wire.Room{}}
}

// state returns the snapshot and its hash. Polls outnumber changes, so both are kept until the next change.
func (g *game) state() (wire.Snapshot, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hash == "" {
		g.snapshot.Rooms = slices.SortedFunc(maps.Values(g.rooms),
			func(a, b wire.Room) int { return wire.Compare(a.ID, b.ID) })
		g.hash = g.snapshot.Hash()
	}
	return g.snapshot, g.hash
}

var errExists = errors.New("room id already exists")

// create executes a command of the orchestrator. The order of the checks is the original's.
func (g *game) create(id, kind string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit := g.snapshot.MaxRooms
	switch {
	case !g.snapshot.AutoCreate:
		return errors.New("autoCreate is disabled on this instance")
	case limit != nil && len(g.rooms) >= int(*limit):
		return fmt.Errorf("capacity exhausted: maxRooms=%d", *limit)
	}
	return g.add(id, kind, wire.Fleet)
}

func (g *game) open(id, kind, origin string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.add(id, kind, origin)
}

func (g *game) add(id, kind, origin string) error {
	if _, exists := g.rooms[id]; exists {
		return errExists
	}
	if !slices.Contains(g.snapshot.RoomTypes, kind) {
		return errors.New("room type is not defined")
	}
	g.rooms[id] = wire.Room{ID: id, Type: kind, Origin: origin}
	g.hash = ""
	return nil
}

func (g *game) close(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, exists := g.rooms[id]
	delete(g.rooms, id)
	g.hash = ""
	return exists
}

func (g *game) setConnections(id string, players uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if room, exists := g.rooms[id]; exists {
		room.Connections = players
		g.rooms[id] = room
		g.hash = ""
	}
}

func (g *game) setStatus(status string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.snapshot.Status = status
	g.hash = ""
}
