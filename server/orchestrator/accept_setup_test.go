package orchestrator

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/agents/wire"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/rest"
)

// These tests use a fake store that accepts everything. The tests of package server use a real database.

const (
	settingsKey = "an-agent-key-of-the-settings-0001"
	rowKey      = "an-agent-key-that-is-a-row-000001"
)

// accepting is a store that accepts what agents report.
type accepting struct {
	mu         sync.Mutex
	away       bool // BeginReplica fails
	keys       []db.AgentKey
	superseded bool
	own        db.OwnAgentChanges
	pending    []db.Command
	joined     chan db.AgentJoin
	left       chan db.AgentRef
	misses     chan int
	ended      chan uuid.UUID
	wake       chan struct{}
}

func (a *accepting) set(change func(*accepting)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a)
}

func (a *accepting) BeginReplica(context.Context, string) (uuid.UUID, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return uuid.Nil, &fault.Error{Kind: fault.Unavailable}
	}
	a.superseded = false
	return uuid.New(), nil
}

func (a *accepting) RenewReplica(context.Context, string, uuid.UUID, time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.superseded {
		return &fault.Error{Kind: fault.Superseded}
	}
	return nil
}

func (a *accepting) EndReplica(_ context.Context, _ string, id uuid.UUID, _ time.Duration) error {
	a.ended <- id
	return nil
}

func (a *accepting) OwnAgents(context.Context, string, uuid.UUID, uint64) (db.OwnAgentChanges, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.own
	a.own = db.OwnAgentChanges{}
	own.NextTx = 1
	return own, nil
}

func (a *accepting) PendingCommands(_ context.Context, _ string, _, after uuid.UUID) (page []db.Command, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if after == uuid.Nil {
		page = slices.Clone(a.pending)
	}
	return page, nil
}

func (a *accepting) Subscribe(string, string) (wake <-chan struct{}, stop func()) {
	return a.wake, func() {}
}

func (a *accepting) AgentKeys(context.Context, string) ([]db.AgentKey, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys, nil
}

func (a *accepting) JoinAgent(_ context.Context, j db.AgentJoin) (db.AgentState, error) {
	a.joined <- j
	return db.AgentState{RecordedStatus: db.AgentActive}, nil
}

func (a *accepting) ApplySnapshot(context.Context, db.AgentSnapshot) (db.AgentState, error) {
	return db.AgentState{RecordedStatus: db.AgentActive}, nil
}

func (a *accepting) MarkMissed(_ context.Context, m db.AgentMiss) error {
	a.misses <- m.MissedPolls
	return nil
}

func (a *accepting) AcknowledgeCommand(_ context.Context, ack db.CommandAck) (db.AgentState, error) {
	a.set(func(a *accepting) {
		a.pending = slices.DeleteFunc(a.pending, func(c db.Command) bool { return c.ID == ack.CommandID })
	})
	return db.AgentState{RecordedStatus: db.AgentActive}, nil
}

func (a *accepting) LeaveAgent(_ context.Context, ref db.AgentRef) error {
	a.left <- ref
	return nil
}

// served is a running server.
type served struct {
	*Server

	t     *testing.T
	store *accepting
	log   *logtest.Buffer
	stop  func() error
}

func serve(t *testing.T, change ...func(*Options)) *served {
	t.Helper()
	v := &served{t: t, log: new(logtest.Buffer), store: &accepting{
		joined: make(chan db.AgentJoin, 100), left: make(chan db.AgentRef, 100), misses: make(chan int, 100),
		ended: make(chan uuid.UUID, 100), wake: make(chan struct{}, 1),
	}}
	o := variant.Apply(Options{
		Store: v.store, AgentKeys: []string{settingsKey}, Addr: "127.0.0.1:0", FailureRate: rest.Rate{PerSecond: -1},
		Log: slog.New(slog.NewTextHandler(v.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, change...)
	v.Server = must.Get(New(o))(t)
	require.NoError(t, v.Listen(t.Context()))
	v.stop = background.Serve(t, v.Server)
	return v
}

// ready waits until handshakes are accepted.
func (v *served) ready() *served {
	v.t.Helper()
	require.Eventually(v.t, func() bool { return v.currentReplica.Load() != nil && v.agentKeys.isComplete() }, patience,
		time.Millisecond)
	return v
}

func (v *served) url() string { return "ws://" + v.Addr().String() + "/any/path?a=b" }

// dial offers subprotocols. Without a connection, it returns the answer to the handshake.
func (v *served) dial(subprotocols ...string) (*websocket.Conn, webtest.Answer) {
	v.t.Helper()
	return webtest.DialWebSocket(v.t, v.url(), &websocket.DialOptions{
		Subprotocols: subprotocols, CompressionMode: websocket.CompressionContextTakeover,
		HTTPHeader: http.Header{"Origin": {"https://elsewhere.example"}},
	})
}

// closedWith reads until the connection ends and checks its close code.
func closedWith(t *testing.T, ws *websocket.Conn, code websocket.StatusCode, reason string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if _, _, err := ws.Read(ctx); err != nil {
			var end websocket.CloseError
			require.ErrorAs(t, err, &end)
			require.Equal(t, websocket.CloseError{Code: code, Reason: reason}, end)
			return
		}
	}
}

// greeted is a connection that has sent its first full state.
func (v *served) greeted(key string) (ws *websocket.Conn, id string) {
	v.t.Helper()
	ws, _ = v.dial(key, subprotocol)
	require.NotNil(v.t, ws)
	hello := next[wire.Hello](v.t, ws)
	poll := next[wire.Poll](v.t, ws)
	send(v.t, ws, wire.State{ReqID: poll.ReqID, IsFull: true, Seq: 1, Hash: "h",
		Snapshot: wire.Snapshot{EndpointURL: "ws://x"}}.Frame())
	require.Equal(v.t, hello.InstanceID, await.Value(v.t, v.store.joined, "join").Ref.ID)
	return ws, hello.InstanceID
}

func next[T any](t *testing.T, ws *websocket.Conn) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kind, message, err := ws.Read(ctx)
	require.NoError(t, err)
	require.Equal(t, websocket.MessageBinary, kind)
	got := must.Get(wire.Decode(message))(t)
	require.IsType(t, *new(T), got)
	return got.(T)
}

func send(t *testing.T, ws *websocket.Conn, frame []byte) {
	t.Helper()
	require.NoError(t, ws.Write(t.Context(), websocket.MessageBinary, frame))
}
