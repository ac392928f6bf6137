// Package agents simulates Rivalis game servers: processes that attach to an orchestrator with the FleetAgent of
// @rivalis/fleet 8 and behave as it does. It speaks the protocol of internal/testkit/agents/wire and imports nothing of
// the director. Tests and measurements use it.
//
// An agent only answers polls and executes commands. When its connection ends it connects again, as the same process
// with the same rooms. In one point it is stricter than the original: Run ends at every frame that is not exactly as
// the protocol has it, while the original ends its game server only at a frame that it cannot parse.
package agents

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
)

// Config describes a game server. URL and Key are required.
type Config struct {
	URL string // of the orchestrator, ws:// or wss://
	Key string // an agent key: characters of an HTTP token

	Name           string
	EndpointURL    string // for players
	Labels         map[string]string
	MaxConnections *int32 // nil is unlimited
	MaxRooms       *int32 // nil is unlimited
	NoAutoCreate   bool   // refuses create commands
	RoomTypes      []string

	HTTPClient *http.Client   // dials; nil is http.DefaultClient
	Random     func() float64 // returns a number of [0, 1), which spreads reconnects; nil is rand.Float64

	// Send, unless nil, is called for each frame with its topic, instead of sending it. It may call send now, later,
	// from another goroutine, twice, or never, so that tests can delay, repeat and drop frames. The agent reads the
	// next message only after Send has returned.
	Send func(topic string, send func())

	// Closed, unless nil, is called with the error that ended or prevented a connection; websocket.CloseStatus
	// returns the orchestrator's close code.
	Closed func(error)
}

// Agent is a simulated game server. Its methods are safe for concurrent use.
type Agent struct {
	cfg  Config
	game *game

	mu          sync.Mutex
	instanceID  string // "" while the orchestrator has not sent hello
	statusWaits []statusWait
}

// statusWait is a call of Drain or Undrain that waits for a poll with this status.
type statusWait struct {
	status string
	done   chan error // has room for the one result
}

// New returns a game server without rooms. It does nothing before Run.
func New(cfg Config) *Agent {
	return &Agent{cfg: cfg, game: newGame(wire.Snapshot{
		Name: cfg.Name, ProcessUID: newProcessUID(), AgentVersion: "8.0.0", ProtocolVersion: wire.Version,
		EndpointURL: cfg.EndpointURL,
		Labels:      cfg.Labels, MaxConnections: cfg.MaxConnections, MaxRooms: cfg.MaxRooms,
		AutoCreate: !cfg.NoAutoCreate,
		RoomTypes:  cfg.RoomTypes, Status: wire.Active,
	})}
}

func newProcessUID() string {
	id := make([]byte, 12)
	_, _ = rand.Read(id) // never fails, by its contract
	return "p_" + hex.EncodeToString(id)
}

// InstanceID returns the id that the orchestrator has assigned to the current connection; "" if there is none.
func (a *Agent) InstanceID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.instanceID
}

func (a *Agent) setInstanceID(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.instanceID = id
}

// Snapshot returns the state that the agent would report now. The caller must not change its lists and maps.
func (a *Agent) Snapshot() wire.Snapshot {
	s, _ := a.game.currentState()
	return s
}

// OpenRoom makes a room as the game's code does. It returns an error if a room has this id, or the type is not defined.
func (a *Agent) OpenRoom(id, kind string) error { return a.game.openRoom(id, kind) }

// CloseRoom removes a room and reports whether there was one.
func (a *Agent) CloseRoom(id string) bool { return a.game.closeRoom(id) }

// SetConnections sets how many players are in a room; without such a room it does nothing.
func (a *Agent) SetConnections(id string, players uint32) { a.game.setConnections(id, players) }
