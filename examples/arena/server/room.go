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
	log      *slog.Logger
	emptyFor time.Duration
	ended    func(session string)
	work     sync.WaitGroup
	closed   <-chan struct{}

	mu        sync.Mutex
	openRooms map[string]*room
}

func newRooms(cfg Config, ended func(string), closed <-chan struct{}) *rooms {
	return &rooms{log: cfg.Logger, emptyFor: cfg.EmptyFor, ended: ended, closed: closed, openRooms: map[string]*room{}}
}

// enter adds a connection to the room of its session. The first one opens the room, whose mode and size are in its
// token. All modes of the arena have the same rules; the mode is only shown.
func (r *rooms) enter(c *conn) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := r.openRooms[c.session]
	if place == nil {
		place = &room{session: c.session, world: game.NewWorld(rand.Uint64()), conns: map[string]*conn{}}
		r.openRooms[c.session] = place
		r.log.LogAttrs(context.Background(), slog.LevelInfo, "session opened", slog.String("session_id", c.session),
			slog.String("mode", c.mode), slog.Int("max_players", c.maxPlayers))
		r.work.Go(func() { r.run(place) })
	}
	// Still under the lock, so that run cannot retire the room before the player is in it.
	place.enter(c)
	return place
}

// run ticks the room, and ends its session when it has been empty for long.
func (r *rooms) run(place *room) {
	ticker := time.NewTicker(game.TickEvery)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-r.closed:
			return
		case now := <-ticker.C:
			if place.tick() > 0 {
				last = now
			}
			// A player may have entered since the tick: retire looks again, under the lock under which players enter.
			if now.Sub(last) >= r.emptyFor && r.retire(place) {
				r.ended(place.session)
				return
			}
		}
	}
}

// retire removes an empty room, unless a player has just entered it.
func (r *rooms) retire(place *room) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if place.count() > 0 {
		return false
	}
	delete(r.openRooms, place.session)
	return true
}

func (r *rooms) players() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, place := range r.openRooms {
		n += place.count()
	}
	return n
}

// room is one session: a world and the connections of its players.
type room struct {
	session string

	mu    sync.Mutex
	world *game.World
	conns map[string]*conn // by player
}

func (p *room) enter(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.world.Join(c.player)
	p.conns[c.player] = c
}

// leave does nothing for a connection whose player has connected again.
func (p *room) leave(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[c.player] == c {
		p.world.Leave(c.player)
		delete(p.conns, c.player)
	}
}

func (p *room) steer(c *conn, heading game.Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[c.player] == c {
		p.world.Steer(c.player, heading)
	}
}

// tick advances the world, sends it to all players, and returns their number. The state is encoded once for all of
// them.
func (p *room) tick() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) == 0 {
		return 0
	}
	p.world.Step()
	state := p.world.State()
	frame, err := json.Marshal(game.ServerMessage{Type: game.TypeState, State: &state})
	if err != nil {
		return len(p.conns) // a number that JSON cannot encode: this tick is skipped
	}
	for _, c := range p.conns {
		c.offer(frame)
	}
	return len(p.conns)
}

func (p *room) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}
