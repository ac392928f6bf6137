package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/orchestrator"
)

// Game servers are simulated; replicas and Postgres are real.

const (
	rivalisKey   = "an-agent-key-for-tests-0123456789"
	rivalisAdmin = "an-admin-key-for-tests-0123456789"
	// a machine that runs all tests at once may stall for three heartbeats of less
	fastBeat = 250 * time.Millisecond
)

// rivalis makes a replica an orchestrator.
func rivalis(c *config) {
	c.nobody = true
	c.Orchestrator = &server.Orchestrator{
		Options:   orchestrator.Options{AgentKeys: []string{rivalisKey}, Heartbeat: fastBeat, Addr: noPort, Metrics: prometheus.NewRegistry()},
		AdminKeys: []string{rivalisAdmin},
	}
}

// fleet is replicas of one orchestrator behind one address, and game servers.
type fleet struct {
	*bundle

	replicas []*bundle
	registry *prometheus.Registry // of the first
	mu       sync.Mutex
	up       []net.Addr
	dials    atomic.Int64
}

func newFleet(t *testing.T, replicas int, change ...func(*config)) *fleet {
	t.Helper()
	f := fleetOn(t, dbtest.New(t), replicas, change...)
	f.ready()
	return f
}

func fleetOn(t *testing.T, url string, replicas int, change ...func(*config)) *fleet {
	t.Helper()
	f := &fleet{}
	for range replicas {
		registry := prometheus.NewRegistry()
		b := start(t, url, append([]func(*config){rivalis, func(c *config) { c.Orchestrator.Options.Metrics = registry }}, change...)...)
		if f.registry == nil {
			f.registry = registry
		}
		f.replicas, f.up = append(f.replicas, b), append(f.up, b.server.OrchestratorAddr())
	}
	f.bundle = f.replicas[0]
	return f
}

func (f *fleet) ready() {
	f.t.Helper()
	f.eventually(func() bool {
		return f.store.Count("SELECT count(*) FROM replicas WHERE ended_at IS NULL") == len(f.replicas)
	})
}

// dial connects to the replicas in turn, as a load balancer does.
func (f *fleet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	f.mu.Lock()
	if len(f.up) == 0 {
		f.mu.Unlock()
		return nil, errors.New("no replica is up")
	}
	addr := f.up[int(f.dials.Add(1))%len(f.up)]
	f.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
}

// gameServer is a running agent. What ends it, such as a frame that it cannot parse, fails the test.
type gameServer struct {
	*agents.Agent

	f      *fleet
	name   string
	closed chan error
	kill   func()
}

// endedWith reports whether a connection ended with a close code since the last call. Others are skipped: the first
// attempts to connect may be refused while a replica begins.
func (g *gameServer) endedWith(code websocket.StatusCode) bool {
	for {
		select {
		case err := <-g.closed:
			if websocket.CloseStatus(err) == code {
				return true
			}
		default:
			return false
		}
	}
}

func (f *fleet) gameServer(name string, change ...func(*agents.Config)) *gameServer {
	f.t.Helper()
	g := &gameServer{f: f, name: name, closed: make(chan error, 1000)}
	transport := &http.Transport{DialContext: f.dial}
	cfg := variant.Apply(agents.Config{
		URL: "ws://orchestrator.test/agents?x=y", Key: rivalisKey, Name: name,
		EndpointURL: "wss://" + name + ".example", Labels: map[string]string{"name": name},
		RoomTypes: []string{"match"}, HTTPClient: &http.Client{Transport: transport},
		Closed: func(err error) { g.closed <- err },
	}, change...)
	g.Agent = agents.New(cfg)
	f.t.Cleanup(transport.CloseIdleConnections)
	g.kill = background.RunUntilCanceled(f.t, g.Run)
	return g
}

// info returns the agent as the database lists it.
func (g *gameServer) info() (db.InstanceInfo, bool) {
	id := g.InstanceID()
	if id == "" {
		return db.InstanceInfo{}, false
	}
	info, err := g.f.store.FindAgent(g.f.t.Context(), "global", id)
	return info, err == nil
}

// listed waits until the database lists the agent, and returns it.
func (g *gameServer) listed() (info db.InstanceInfo) {
	g.f.t.Helper()
	g.f.eventually(func() (ok bool) { info, ok = g.info(); return ok })
	return info
}

func (f *fleet) create(r db.NewRoom) db.CommandAnswer {
	f.t.Helper()
	r.Region, r.CallerReplica, r.Type, r.Timeout = "global", uuid.New(), "match", wait
	c := must.Get(f.store.CreateRoom(f.t.Context(), r))(f.t)
	return f.settled(c)
}

func (f *fleet) settled(c db.Command) (answer db.CommandAnswer) {
	f.t.Helper()
	f.store.Notify(db.TopicReplica(c.ReplicaID), "global")
	f.eventually(func() bool {
		answers := must.Get(f.store.CommandAnswers(f.t.Context(), "global", []uuid.UUID{c.ID}))(f.t)
		answer = answers[0]
		return answer.FinalState != db.CommandPending
	})
	return answer
}

func (f *fleet) command(agent string, op db.CommandOp) db.CommandAnswer {
	f.t.Helper()
	c := must.Get(f.store.CommandAgent(f.t.Context(), db.AgentCommand{Region: "global", AgentID: agent, Op: op, CallerReplica: uuid.New(), Actor: "test", Timeout: wait}))(f.t)
	return f.settled(c)
}

func (f *fleet) destroy(room string) db.CommandAnswer {
	f.t.Helper()
	c := must.Get(f.store.DestroyRoom(f.t.Context(), "global", room, uuid.New(), "test", wait))(f.t)
	return f.settled(c)
}

func (f *fleet) hasRoom(id string) bool {
	_, err := f.store.FindRoom(f.t.Context(), "global", id)
	return err == nil
}
