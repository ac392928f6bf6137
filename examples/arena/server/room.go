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
	onEnd        func(session string)
	goroutines   sync.WaitGroup
	serverClosed <-chan struct{}

	// Held while that of a room is taken, and never the other way round.
	mu        sync.Mutex
	openRooms map[string]*room
}

func newRooms(cfg Config, ended func(string), closed <-chan struct{}) *rooms {
	return &rooms{log: cfg.Logger, emptyFor: cfg.EmptyFor, onEnd: ended, serverClosed: closed,
		openRooms: map[string]*room{}}
}

// enterRoom adds a connection to the room of its session. The first one opens the room, whose mode and size are in its
// token. All modes of the arena have the same rules; the mode is only shown.
func (r *rooms) enterRoom(c *conn) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := r.openRooms[c.sessionID]
	if place == nil {
		place = &room{session: c.sessionID, world: game.NewWorld(rand.Uint64()), connByPlayer: map[string]*conn{}}
		r.openRooms[c.sessionID] = place
		r.log.LogAttrs(context.Background(), slog.LevelInfo, "session opened", slog.String("session_id", c.sessionID),
			slog.String("mode", c.sessionMode), slog.Int("max_players", c.maxPlayers))
		r.goroutines.Go(func() { r.runRoom(place) })
	}
	// Still under the lock, so that runRoom cannot retire the room before the player is in it.
	place.addConn(c)
	return place
}

// runRoom ticks the room, and ends its session when it has been empty for long.
func (r *rooms) runRoom(place *room) {
	ticker := time.NewTicker(game.TickEvery)
	defer ticker.Stop()
	// Counted from the opening: the party that made the session may still be connecting.
	last := time.Now()
	for {
		select {
		// Without onEnd: the SDK has ended by then, see closeAll.
		case <-r.serverClosed:
			return
		case now := <-ticker.C:
			if place.tickWorld() > 0 {
				last = now
			}
			// A player may have entered since the tick: retireRoom looks again, under the lock under which players enter.
			if now.Sub(last) >= r.emptyFor && r.retireRoom(place) {
				r.onEnd(place.session)
				return
			}
		}
	}
}

// retireRoom removes an empty room, unless a player has just entered it.
func (r *rooms) retireRoom(place *room) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if place.countConns() > 0 {
		return false
	}
	delete(r.openRooms, place.session)
	return true
}

func (r *rooms) countPlayers() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, place := range r.openRooms {
		n += place.countConns()
	}
	return n
}

// room is one session: a world and the connections of its players.
type room struct {
	session string

	mu           sync.Mutex
	world        *game.World
	connByPlayer map[string]*conn // by player
}

func (p *room) addConn(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A player who is on the field already, by a connection that is not noticed as dead yet, keeps place and score.
	p.world.Join(c.playerName)
	p.connByPlayer[c.playerName] = c
}

// removeConn does nothing for a connection whose player has connected again.
func (p *room) removeConn(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connByPlayer[c.playerName] == c {
		p.world.Leave(c.playerName)
		delete(p.connByPlayer, c.playerName)
	}
}

func (p *room) steerPlayer(c *conn, heading game.Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connByPlayer[c.playerName] == c {
		p.world.Steer(c.playerName, heading)
	}
}

// tickWorld advances the world, sends it to all players, and returns their number. The state is encoded once for all of
// them.
func (p *room) tickWorld() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	// An empty world stands still, until a player returns or the room is retired.
	if len(p.connByPlayer) == 0 {
		return 0
	}
	p.world.Step()
	state := p.world.State()
	frame, err := json.Marshal(game.ServerMessage{Type: game.TypeState, State: &state})
	if err != nil {
		return len(p.connByPlayer) // a number that JSON cannot encode: this tick is skipped
	}
	for _, c := range p.connByPlayer {
		c.offerFrame(frame)
	}
	return len(p.connByPlayer)
}

func (p *room) countConns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.connByPlayer)
}
