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

// callTimeout bounds a call of the game server, also while the director cannot be reached: the main loop of a game may
// wait for the answer.
const callTimeout = 10 * time.Second

// State is the state of the game server; see the package's diagram.
type State string

// The states.
const (
	StateStarting   State = "starting"   // not registered yet
	StateReady      State = "ready"      // receives players
	StateDraining   State = "draining"   // receives no more players
	StateStopping   State = "stopping"   // shuts down
	StateUnhealthy  State = "unhealthy"  // was silent for too long, and is not registered any more
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
	ID         string `json:"id"` // of this admission, which the game server names when the player leaves
	Sub        string `json:"sub"`
	SessionID  string `json:"session_id"`
	Region     string `json:"region"`
	Mode       string `json:"mode"`
	MaxPlayers int    `json:"max_players"`
	Party      string `json:"party"`
	Match      string `json:"match"`
	Team       string `json:"team"`
}

type admittedPlayer struct {
	player Player
	seat   *sdk.Admission
}

// game is the game server as its sidecar knows it. Safe for concurrent use.
type game struct {
	options           Options
	log               *slog.Logger
	events            *events
	loadBits          atomic.Uint64 // the bits of a float64
	startedAt         time.Time     // with a monotonic clock, which no correction of the machine's clock moves
	lastCallAt        atomic.Int64  // when the game server called last, in nanoseconds since startedAt
	finalStateReached chan struct{} // closed in a final state

	registerLock chan struct{} // a lock, held while the server registers; a channel, so that waiting for it can end

	mu              sync.Mutex
	state           State
	server          *sdk.GameServer // nil unless registered
	bootID          string          // as the game server says it; empty: it says none
	admittedPlayers map[string]*admittedPlayer
	openSessions    []sdk.SessionRoster
	isUnwanted      bool
	finalErr        error // why the final state was entered; nil: as intended
}

func newGame(o Options) *game {
	g := &game{
		options: o, log: o.Log, startedAt: time.Now(), finalStateReached: make(chan struct{}),
		registerLock: make(chan struct{}, 1), state: StateStarting, admittedPlayers: map[string]*admittedPlayer{},
	}
	g.events = newEvents(g.firstEvents)
	g.noteCall()
	return g
}

// noteCall notes that the game server called.
func (g *game) noteCall() { g.lastCallAt.Store(int64(time.Since(g.startedAt))) }

// silentFor returns how long ago the game server called last.
func (g *game) silentFor() time.Duration {
	return time.Since(g.startedAt) - time.Duration(g.lastCallAt.Load())
}

// currentStatus returns the current status.
func (g *game) currentStatus() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.statusLocked()
}

func (g *game) statusLocked() Status {
	s := Status{
		State: g.state, InstanceID: g.options.Server.InstanceID, Endpoint: g.options.Server.Endpoint,
		Players: len(g.admittedPlayers), Sessions: len(g.openSessions), Unwanted: g.isUnwanted,
	}
	// The director says the endpoint of a deployed server.
	if g.server != nil {
		s.Endpoint = g.server.Endpoint()
	}
	return s
}

// enterState changes the state and publishes it to the game server. A final state stays, and only
// a final state follows StateStopping.
func (g *game) enterState(state State, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.enterStateLocked(state, err)
}

// isOver reports whether only a final state can follow.
func (s State) isOver() bool { return s == StateStopping || s.isFinal() }

func (s State) isFinal() bool { return s == StateEnded || s == StateSuperseded }

func (g *game) enterStateLocked(state State, err error) {
	// A shutdown wins over what comes late, such as a drain or a registration that was under way.
	if g.state == state || g.state.isFinal() || g.state.isOver() && !state.isFinal() {
		return
	}
	g.state = state
	// Under the lock, so that listeners get the states in their order.
	g.events.publishEvent("status", g.statusLocked())
	if state.isFinal() {
		g.finalErr = err
		close(g.finalStateReached)
	}
}

func (g *game) endWith(err error) { g.enterState(StateEnded, err) }

func (g *game) finalError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.finalErr
}

// registeredServer returns the server, or an error if it is not registered.
func (g *game) registeredServer() (*sdk.GameServer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.server == nil {
		return nil, errNotReady(g.state)
	}
	return g.server, nil
}

// admitPlayer seats the holder of a session token.
func (g *game) admitPlayer(ctx context.Context, sessionToken string) (Player, error) {
	server, err := g.registeredServer()
	if err != nil {
		return Player{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// Without the lock: Admit may call the director.
	seat, err := server.Admit(ctx, strings.TrimSpace(sessionToken))
	if err != nil {
		return Player{}, err
	}
	// With an id of its own: a player may be admitted again before its old connection has left.
	p := &admittedPlayer{Player{
		ID: rand.Text(), Sub: seat.Sub, SessionID: seat.SessionID, Region: seat.Region, Mode: seat.Mode,
		MaxPlayers: seat.MaxPlayers, Party: seat.Party, Match: seat.Match, Team: seat.Team,
	}, seat}
	g.mu.Lock()
	g.admittedPlayers[p.player.ID] = p
	g.mu.Unlock()
	// The director may end the seat at any time, and nothing else of this process would notice.
	go func() {
		<-seat.Done()
		g.endAdmission(p)
	}()
	return p.player, nil
}

// endAdmission forgets a player whose admission is over, and publishes a kick if the game server has to disconnect the
// player.
func (g *game) endAdmission(p *admittedPlayer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, here := g.admittedPlayers[p.player.ID]; !here {
		return // leavePlayer has removed it
	}
	delete(g.admittedPlayers, p.player.ID)
	g.events.publishEvent("kick", kick{p.player.ID, p.player.Sub, p.player.SessionID, codeOf(p.seat.Err())})
}

type kick struct {
	ID        string `json:"id"`
	Sub       string `json:"sub"`
	SessionID string `json:"session_id"`
	Reason    string `json:"reason"` // session_lost, replaced, superseded or closed
}

// leavePlayer frees the seat of a player.
func (g *game) leavePlayer(id string) error {
	g.mu.Lock()
	// Looked up and removed under one lock, so that a player either leaves or is kicked, and never both.
	p, here := g.admittedPlayers[id]
	delete(g.admittedPlayers, id)
	g.mu.Unlock()
	if !here {
		return errUnknownPlayer
	}
	// After the player is forgotten: endAdmission then publishes no kick for a player that left.
	p.seat.Leave()
	return nil
}

// listPlayers returns the admitted players, by id.
func (g *game) listPlayers() []Player {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]Player, 0, len(g.admittedPlayers))
	for _, id := range slices.Sorted(maps.Keys(g.admittedPlayers)) {
		all = append(all, g.admittedPlayers[id].player)
	}
	return all
}

// listSessions returns the open sessions with their expected players.
func (g *game) listSessions() []sdk.SessionRoster {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rosterLocked()
}

func (g *game) rosterLocked() []sdk.SessionRoster {
	if g.openSessions == nil {
		return []sdk.SessionRoster{} // in JSON a list, where nil would be null
	}
	return g.openSessions
}

// endSession closes a session whose match is over.
func (g *game) endSession(id string) error {
	server, err := g.registeredServer()
	if err != nil {
		return err
	}
	server.End(id)
	return nil
}

// setLoad sets the load that the next heartbeats report.
func (g *game) setLoad(load float64) { g.loadBits.Store(math.Float64bits(load)) }

// setDraining stops (true) or resumes (false) the placement of players.
func (g *game) setDraining(ctx context.Context, drain bool) error {
	server, err := g.registeredServer()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// The state follows the director's answer: a game server that believes that it drains, while it still gets players,
	// would end them.
	if err := server.Drain(ctx, drain); err != nil {
		return err
	}
	state := StateReady
	if drain {
		state = StateDraining
	}
	g.enterDraining(server, state)
	return nil
}

// enterDraining changes between StateReady and StateDraining, unless the registration of the server has ended
// meanwhile, or a shutdown has begun: an unhealthy game server would otherwise count as registered, and never register
// again.
func (g *game) enterDraining(server *sdk.GameServer, state State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.server == server && (g.state == StateReady || g.state == StateDraining) {
		g.enterStateLocked(state, nil)
	}
}

// beginShutdown lets the players leave within the grace period, deregisters, and ends the sidecar. It returns at once.
func (g *game) beginShutdown(grace time.Duration) {
	server := g.enterShutdown()
	if server == nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		// Superseded is no failure: another process has the instance id, and nothing is left to deregister.
		if err := server.Shutdown(ctx); err != nil && !errors.Is(err, sdk.ErrSuperseded) {
			g.log.LogAttrs(ctx, slog.LevelWarn, "the director was not told that the game server ended",
				slog.Any("error", err))
		}
	}()
}

// enterShutdown enters StateStopping and returns the server that stops; without a server it enters StateEnded and
// returns nil.
func (g *game) enterShutdown() *sdk.GameServer {
	// In one step, so that no registration comes between the server and the state.
	g.mu.Lock()
	defer g.mu.Unlock()
	// No player can be on a game server that is not registered.
	if g.server == nil {
		g.enterStateLocked(StateEnded, nil)
		return nil
	}
	g.enterStateLocked(StateStopping, nil)
	return g.server
}

// firstEvents returns what a new listener to events gets first: the whole state.
func (g *game) firstEvents() []event {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := slices.Sorted(maps.Keys(g.admittedPlayers))
	return []event{
		{"status", g.statusLocked()}, {"players", playerIDs{append([]string{}, ids...)}},
		{"sessions", sessionList{g.rosterLocked()}},
	}
}
