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
	mu        sync.Mutex
	snapshot  wire.Snapshot // its rooms are those of roomByID only if stateHash is set
	stateHash string        // of the snapshot; "" after a change
	roomByID  map[string]wire.Room
}

func newGame(s wire.Snapshot) *game {
	s.RoomTypes = slices.SortedFunc(slices.Values(s.RoomTypes), wire.CompareTexts)
	return &game{snapshot: s, roomByID: map[string]wire.Room{}}
}

// currentState returns the snapshot and its hash, which it keeps until the next change, since polls outnumber changes.
func (g *game) currentState() (wire.Snapshot, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stateHash == "" {
		g.snapshot.Rooms = slices.SortedFunc(maps.Values(g.roomByID),
			func(a, b wire.Room) int { return wire.CompareTexts(a.ID, b.ID) })
		g.stateHash = g.snapshot.Hash()
	}
	return g.snapshot, g.stateHash
}

var errExists = errors.New("room id already exists")

// createRoom executes a command of the orchestrator. The order of the checks is the original's.
func (g *game) createRoom(id, kind string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit := g.snapshot.MaxRooms
	switch {
	case !g.snapshot.AutoCreate:
		return errors.New("autoCreate is disabled on this instance")
	case limit != nil && len(g.roomByID) >= int(*limit):
		return fmt.Errorf("capacity exhausted: maxRooms=%d", *limit)
	}
	return g.addRoom(id, kind, wire.Fleet)
}

// openRoom makes a room of the game's own code.
func (g *game) openRoom(id, kind string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.addRoom(id, kind, wire.Local)
}

// addRoom makes a room. The caller holds mu.
func (g *game) addRoom(id, kind, origin string) error {
	if _, exists := g.roomByID[id]; exists {
		return errExists
	}
	if !slices.Contains(g.snapshot.RoomTypes, kind) {
		return errors.New("room type is not defined")
	}
	g.roomByID[id] = wire.Room{ID: id, Type: kind, Origin: origin}
	g.stateHash = ""
	return nil
}

// closeRoom removes a room and reports whether there was one.
func (g *game) closeRoom(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, exists := g.roomByID[id]
	delete(g.roomByID, id)
	g.stateHash = ""
	return exists
}

func (g *game) setConnections(id string, players uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if room, exists := g.roomByID[id]; exists {
		room.Connections = players
		g.roomByID[id] = room
		g.stateHash = ""
	}
}

func (g *game) setStatus(status string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.snapshot.Status = status
	g.stateHash = ""
}
