package faults

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/test/rigtest"
)

const agentBeat = 500 * time.Millisecond

// agentRig is an installation with replicas for Rivalis game servers behind one address.
type agentRig struct {
	*rig
	address *rigtest.Balancer

	mu     sync.Mutex
	agents []*agents.Agent
}

// replicaOfAgents is a replica with its listener for agents.
type replicaOfAgents struct {
	*process
	orchestrator string // host:port
}

func newAgentRig(t *testing.T, settings ...string) *agentRig {
	t.Helper()
	r := newRig(t, slices.Concat(rigtest.OrchestratorSettings(),
		[]string{"DIRECTOR_ORCHESTRATOR_HEARTBEAT=" + agentBeat.String()}, settings)...)
	return &agentRig{rig: r, address: rigtest.NewBalancer(t)}
}

// replica starts a replica and adds it to the replicas behind the address.
func (r *agentRig) replica(args ...string) *replicaOfAgents {
	r.T.Helper()
	addr := rigtest.FreeAddr(r.T)
	p := &replicaOfAgents{r.ServeReplica(append([]string{"--orchestrator-addr", addr}, args...)...), addr}
	r.address.AddAddr(addr)
	return p
}

// attach runs a simulated game server until the test ends.
func (r *agentRig) attach(name string, change ...func(*agents.Config)) *agents.Agent {
	r.T.Helper()
	a := r.newAgent(name, change...)
	r.runAgent(a)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agents = append(r.agents, a)
	return a
}

// attachUntil runs a simulated game server until cut is called, as if it were killed then.
func (r *agentRig) attachUntil(name string, change ...func(*agents.Config)) (cut func()) {
	r.T.Helper()
	return r.runAgent(r.newAgent(name, change...))
}

func (r *agentRig) newAgent(name string, change ...func(*agents.Config)) *agents.Agent {
	return rigtest.NewAgent(r.address.ListenAddr(), name, change...)
}

// runAgent runs an agent until the test ends or the returned function is called. A frame that the protocol does not
// allow ends it before.
func (r *agentRig) runAgent(a *agents.Agent) (cut func()) {
	return background.RunUntilCanceled(r.T, a.Run)
}

// call calls the REST API behind the address. Without an answer the status is 0.
func (r *agentRig) call(ctx context.Context, method, path string,
	body any) (status int, cause string, data json.RawMessage) {
	return r.Orchestrator(ctx, r.address.ListenAddr(), method, path, body)
}

// listed returns the number of agents that a replica lists; -1 without an answer.
func (r *agentRig) listed() int {
	_, _, data := r.call(r.T.Context(), http.MethodGet, "/v1/stats", nil)
	var stats struct {
		Instances int `json:"instances"`
	}
	if data == nil || json.Unmarshal(data, &stats) != nil {
		return -1
	}
	return stats.Instances
}

// awaitReplicas waits until the given number of replicas hold agents, and returns the id of the newest one.
func (r *agentRig) awaitReplicas(n int) (newest string) {
	r.T.Helper()
	r.AwaitTrue("SELECT count(*) = $1 FROM replicas", n)
	return one[string](r.rig, "SELECT id::text FROM replicas ORDER BY steady_since DESC LIMIT 1")
}

func (r *agentRig) awaitListed(n int) {
	r.T.Helper()
	require.Eventually(r.T, func() bool { return r.listed() == n }, 30*time.Second, 50*time.Millisecond, "%d agents", n)
}

// create creates a room as callers should: it repeats the call until it gets an answer, and treats ROOM_EXISTS as
// success.
func (r *agentRig) create(ctx context.Context, id string) bool {
	for ctx.Err() == nil {
		status, cause, _ := r.call(ctx, http.MethodPost, "/v1/rooms", fields{"type": "duel", "roomId": id})
		if cause == "ROOM_EXISTS" {
			status, _, _ = r.call(ctx, http.MethodGet, "/v1/rooms/"+id, nil)
		}
		if status == http.StatusCreated || status == http.StatusOK {
			return true
		}
		pause(ctx, 50*time.Millisecond)
	}
	return false
}
