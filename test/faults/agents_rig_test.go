package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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

// addReplica starts a replica and adds it to the replicas behind the address.
func (r *agentRig) addReplica(args ...string) *replicaOfAgents {
	r.T.Helper()
	addr := rigtest.FreeAddr(r.T)
	p := &replicaOfAgents{r.ServeReplica(append([]string{"--orchestrator-addr", addr}, args...)...), addr}
	r.address.AddAddr(addr)
	return p
}

// attach runs a simulated game server until the test ends, or until cut is called, as if it were killed then. A frame
// that the protocol does not allow ends it before.
func (r *agentRig) attach(name string, change ...func(*agents.Config)) (a *agents.Agent, cut func()) {
	r.T.Helper()
	a = rigtest.NewAgent(r.address.ListenAddr(), name, change...)
	return a, background.RunUntilCanceled(r.T, a.Run)
}

// attachAll runs so many simulated game servers, and waits until they are listed.
func (r *agentRig) attachAll(n int, change ...func(*agents.Config)) (all []*agents.Agent) {
	r.T.Helper()
	for i := range n {
		a, _ := r.attach(fmt.Sprint("eu", i), change...)
		all = append(all, a)
	}
	r.awaitListed(n)
	return all
}

// call calls the REST API behind the address. Without an answer the status is 0.
func (r *agentRig) call(ctx context.Context, method, path string,
	body any) (status int, cause string, data json.RawMessage) {
	return r.CallOrchestrator(ctx, r.address.ListenAddr(), method, path, body)
}

// awaitReplicas waits until the given number of replicas hold agents, and returns the id of the newest one.
func (r *agentRig) awaitReplicas(n int) (newest string) {
	r.T.Helper()
	r.AwaitTrue("SELECT count(*) = $1 FROM replicas", n)
	return one[string](r.rig, "SELECT id::text FROM replicas ORDER BY steady_since DESC LIMIT 1")
}

// awaitListed waits until an answer lists so many agents.
func (r *agentRig) awaitListed(n int) {
	r.T.Helper()
	require.Eventually(r.T, func() bool {
		_, _, data := r.call(r.T.Context(), http.MethodGet, "/v1/stats", nil)
		stats := struct {
			Instances int `json:"instances"`
		}{-1}
		return json.Unmarshal(data, &stats) == nil && stats.Instances == n
	}, 30*time.Second, 50*time.Millisecond, "%d agents", n)
}

// createUntilDone repeats the creation of a room until it has succeeded, and returns false when ctx ends before.
func (r *agentRig) createUntilDone(ctx context.Context, id string) bool {
	for ctx.Err() == nil {
		status, _ := r.CreateRoom(ctx, r.address.ListenAddr(), id)
		if status == http.StatusCreated || status == http.StatusOK {
			return true
		}
		pause(ctx, 50*time.Millisecond)
	}
	return false
}
