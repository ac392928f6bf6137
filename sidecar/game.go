package sidecar

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/sdk"
)

// callTimeout bounds a call of the game server, also while the director cannot be reached.
const callTimeout = 10 * time.Second

// State is where the game server is in its life.
type State string

// The states.
const (
	StateStarting   State = "starting"   // it is not registered yet
	StateReady      State = "ready"      // it gets players
	StateDraining   State = "draining"   // it gets no more players
	StateStopping   State = "stopping"   // it shuts down
	StateUnhealthy  State = "unhealthy"  // it said nothing for too long, and is not registered any more
	StateEnded      State = "ended"      // final
	StateSuperseded State = "superseded" // final: another process has registered under its instance id
)

// Status describes the game server.
type Status struct {
	State      State  `json:"state"`
	InstanceID string `json:"instance_id"`
	Endpoint   string `json:"endpoint"` // where players connect; empty while it is not known
	Players    int    `json:"players"`  // admitted now
	Sessions   int    `json:"sessions"` // open now
	Unwanted   bool   `json:"unwanted"` // the director wants the server to shut down
}

// Player is an admitted player.
type Player struct {
	ID         string `json:"id"` // of this admission: say it when the player leaves
	Sub        string `json:"sub"`
	SessionID  string `json:"session_id"`
	Region     string `json:"region"`
	Mode       string `json:"mode"`
	MaxPlayers int    `json:"max_players"`
	Party      string `json:"party"`
	Match      string `json:"match"`
	Team       string `json:"team"`
}

type admitted struct {
	Player

	seat *sdk.Admission
}

// game is the game server as its sidecar knows it. Safe for concurrent use.
type game struct {
	options           Options
	log               *slog.Logger
	events            *events
	load              atomic.Uint64 // the bits of a float64
	began             time.Time     // with a monotonic clock, which no correction of the machine's clock moves
	lastCallAt        atomic.Int64  // when the game server called last, in nanoseconds since began
	finalStateReached chan struct{} // closed in a final state

	readying chan struct{} // a lock, held while the server registers; a channel, so that waiting for it can end

	mu       sync.Mutex
	state    State
	server   *sdk.GameServer // nil unless registered
	bootID   string          // as the game server says it; empty: it says none
	players  map[string]*admitted
	sessions []sdk.SessionRoster
	unwanted bool
	err      error // why it is over
}

func newGame(o Options) *game {
	g := &game{
		options: o, log: o.Log, began: time.Now(), finalStateReached: make(chan struct{}),
		readying: make(chan struct{}, 1), state: StateStarting, players: map[string]*admitted{},
	}
	g.events = newEvents(g.now)
	g.hear()
	return g
}

// hear notes that the game server called.
func (g *game) hear() { g.lastCallAt.Store(int64(time.Since(g.began))) }

// silentFor returns how long ago the game server called last.
func (g *game) silentFor() time.Duration {
	return time.Since(g.began) - time.Duration(g.lastCallAt.Load())
}

// status returns the current status.
func (g *game) status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.statusLocked()
}

func (g *game) statusLocked() Status {
	s := Status{
		State: g.state, InstanceID: g.options.Server.InstanceID, Endpoint: g.options.Server.Endpoint,
		Players: len(g.players), Sessions: len(g.sessions), Unwanted: g.unwanted,
	}
	if g.server != nil {
		s.Endpoint = g.server.Endpoint()
	}
	return s
}

// enter changes the state, unless it is final, and tells the game server.
func (g *game) enter(state State, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	// Final states win over what comes late, such as a drain that was under way.
	if g.state == StateEnded || g.state == StateSuperseded || g.state == state {
		return
	}
	g.state = state
	g.events.publish("status", g.statusLocked())
	if state == StateEnded || state == StateSuperseded {
		g.err = err
		close(g.finalStateReached)
	}
}

func (g *game) fail(err error) { g.enter(StateEnded, err) }

func (g *game) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// registered returns the server, or an error if it is not registered.
func (g *game) registered() (*sdk.GameServer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.server == nil {
		return nil, errNotReady(g.state)
	}
	return g.server, nil
}

// admit seats the holder of a session token.
func (g *game) admit(ctx context.Context, sessionToken string) (Player, error) {
	server, err := g.registered()
	if err != nil {
		return Player{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// Without the lock: it may ask the director.
	seat, err := server.Admit(ctx, strings.TrimSpace(sessionToken))
	if err != nil {
		return Player{}, err
	}
	p := &admitted{Player{
		ID: rand.Text(), Sub: seat.Sub, SessionID: seat.SessionID, Region: seat.Region, Mode: seat.Mode,
		MaxPlayers: seat.MaxPlayers,
		Party:      seat.Party, Match: seat.Match, Team: seat.Team,
	}, seat}
	g.mu.Lock()
	g.players[p.ID] = p
	g.mu.Unlock()
	go func() {
		<-seat.Done()
		g.ended(p)
	}()
	return p.Player, nil
}

// ended forgets a player whose admission is over, and tells the game server if it has to disconnect the player.
func (g *game) ended(p *admitted) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, here := g.players[p.ID]; !here {
		return // it left
	}
	delete(g.players, p.ID)
	g.events.publish("kick", kick{p.ID, p.Sub, p.SessionID, codeOf(p.seat.Err())})
}

type kick struct {
	ID        string `json:"id"`
	Sub       string `json:"sub"`
	SessionID string `json:"session_id"`
	Reason    string `json:"reason"` // session_lost, replaced, superseded or closed
}

// leave frees the seat of a player.
func (g *game) leave(id string) error {
	g.mu.Lock()
	p, here := g.players[id]
	delete(g.players, id)
	g.mu.Unlock()
	if !here {
		return errUnknownPlayer
	}
	// After the player is forgotten: the end of the seat is then no news for the game server, which said it.
	p.seat.Leave()
	return nil
}

// list returns the admitted players, by id.
func (g *game) list() []Player {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]Player, 0, len(g.players))
	for _, id := range slices.Sorted(maps.Keys(g.players)) {
		all = append(all, g.players[id].Player)
	}
	return all
}

// roster returns the open sessions with their expected players.
func (g *game) roster() []sdk.SessionRoster {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rosterLocked()
}

func (g *game) rosterLocked() []sdk.SessionRoster {
	if g.sessions == nil {
		return []sdk.SessionRoster{}
	}
	return g.sessions
}

// endSession closes a session whose match is over.
func (g *game) endSession(id string) error {
	server, err := g.registered()
	if err == nil {
		server.End(id)
	}
	return err
}

// setLoad sets what the next heartbeats say.
func (g *game) setLoad(load float64) { g.load.Store(math.Float64bits(load)) }

// drain stops (true) or resumes (false) the placement of players.
func (g *game) drain(ctx context.Context, drain bool) error {
	server, err := g.registered()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := server.Drain(ctx, drain); err != nil {
		return err
	}
	state := StateReady
	if drain {
		state = StateDraining
	}
	g.enter(state, nil)
	return nil
}

// shutdown lets the players leave within the grace period, deregisters, and ends the sidecar. It returns at once.
func (g *game) shutdown(grace time.Duration) {
	g.mu.Lock()
	server := g.server
	g.mu.Unlock()
	// Nobody plays on a server that is not registered.
	if server == nil {
		g.enter(StateEnded, nil)
		return
	}
	g.enter(StateStopping, nil)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil && !errors.Is(err, sdk.ErrSuperseded) {
			g.log.LogAttrs(ctx, slog.LevelWarn, "the director was not told that the game server ended",
				slog.Any("error", err))
		}
	}()
}

// now is what a new listener to events is told first.
func (g *game) now() []event {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := slices.Sorted(maps.Keys(g.players))
	return []event{
		{"status", g.statusLocked()}, {"players", playerIDs{append([]string{}, ids...)}},
		{"sessions", sessionList{g.rosterLocked()}},
	}
}
