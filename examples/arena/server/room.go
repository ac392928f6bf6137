package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lattice-director/director/examples/arena/game"
)

// rooms are the running sessions.
type rooms struct {
	log          *slog.Logger
	emptyFor     time.Duration
	onEnd        func(session string) // of a session whose room stayed empty
	goroutines   sync.WaitGroup
	serverClosed <-chan struct{}

	// mu is locked before that of a room, and never after it.
	mu        sync.Mutex
	openRooms map[string]*gameRoom
}

func newRooms(cfg Config, ended func(string), closed <-chan struct{}) *rooms {
	return &rooms{log: cfg.Logger, emptyFor: cfg.EmptyFor, onEnd: ended, serverClosed: closed,
		openRooms: map[string]*gameRoom{}}
}

// enterRoom adds a connection to the room of its session. The first one opens the room, whose mode and size are in its
// token. All modes of the arena have the same rules; the mode is only shown.
func (r *rooms) enterRoom(c *conn) *gameRoom {
	r.mu.Lock()
	defer r.mu.Unlock()
	room := r.openRooms[c.sessionID]
	if room == nil {
		room = &gameRoom{session: c.sessionID, world: game.NewWorld(rand.Uint64()), connByPlayer: map[string]*conn{}}
		r.openRooms[c.sessionID] = room
		r.log.LogAttrs(context.Background(), slog.LevelInfo, "session opened", slog.String("session_id", c.sessionID),
			slog.String("mode", c.sessionMode), slog.Int("max_players", c.maxPlayers))
		r.goroutines.Go(func() { r.runRoom(room) })
	}
	// Still under the lock, so that runRoom cannot retire the room before the player is in it.
	room.addConn(c)
	return room
}

// runRoom ticks the room, and ends its session when the room has been empty for emptyFor.
func (r *rooms) runRoom(room *gameRoom) {
	ticker := time.NewTicker(game.TickEvery)
	defer ticker.Stop()
	// From the opening, because the party that made the session may still be connecting.
	occupiedAt := time.Now()
	for {
		select {
		// Without onEnd: the SDK has ended by then, see closeAll.
		case <-r.serverClosed:
			return
		case now := <-ticker.C:
			if room.tickWorld() > 0 {
				occupiedAt = now
			}
			// A player may have entered since the tick: retireRoom looks again, under the lock under which players
			// enter.
			if now.Sub(occupiedAt) >= r.emptyFor && r.retireRoom(room) {
				r.onEnd(room.session)
				return
			}
		}
	}
}

// retireRoom removes an empty room and returns true, unless a player has just entered it.
func (r *rooms) retireRoom(room *gameRoom) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if room.countConns() > 0 {
		return false
	}
	delete(r.openRooms, room.session)
	return true
}

// countPlayers counts the connected players of all rooms.
func (r *rooms) countPlayers() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, room := range r.openRooms {
		n += room.countConns()
	}
	return n
}

// gameRoom is one session: a world and the connections of its players.
type gameRoom struct {
	session string

	mu           sync.Mutex
	world        *game.World
	connByPlayer map[string]*conn
}

func (r *gameRoom) addConn(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// A player who is on the field already, by a connection that is not noticed as dead yet, keeps position and score.
	r.world.Join(c.playerName)
	r.connByPlayer[c.playerName] = c
}

// removeConn takes the player off the field, unless the player has connected again with a newer connection.
func (r *gameRoom) removeConn(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.connByPlayer[c.playerName] == c {
		r.world.Leave(c.playerName)
		delete(r.connByPlayer, c.playerName)
	}
}

func (r *gameRoom) steerPlayer(c *conn, heading game.Point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.connByPlayer[c.playerName] == c {
		r.world.Steer(c.playerName, heading)
	}
}

// tickWorld advances the world, sends it to all players, and returns their number. The state is encoded once for all of
// them.
func (r *gameRoom) tickWorld() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	// An empty world stands still, until a player returns or the room is retired.
	if len(r.connByPlayer) == 0 {
		return 0
	}
	r.world.Step()
	state := r.world.State()
	frame, err := json.Marshal(game.ServerMessage{Type: game.TypeState, State: &state})
	if err != nil {
		return len(r.connByPlayer) // a number that JSON cannot encode: this tick is skipped
	}
	for _, c := range r.connByPlayer {
		c.offerFrame(frame)
	}
	return len(r.connByPlayer)
}

func (r *gameRoom) countConns() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.connByPlayer)
}
