package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench/agents"
	"github.com/lattice-director/director/test/rigtest"
)

const (
	agentKey  = "an-agent-key-of-tests-0000000000000000"
	adminKey  = "an-admin-key-of-tests-0000000000000000"
	agentBeat = 500 * time.Millisecond
)

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
	r := newRig(t, append([]string{
		"DIRECTOR_ORCHESTRATOR_AGENT_KEYS=" + agentKey, "DIRECTOR_ORCHESTRATOR_ADMIN_KEYS=" + adminKey, "DIRECTOR_ORCHESTRATOR_HEARTBEAT=" + agentBeat.String(),
	}, settings...)...)
	return &agentRig{rig: r, address: rigtest.NewBalancer(t)}
}

// replica starts a replica and adds it to the replicas behind the address.
func (r *agentRig) replica(args ...string) *replicaOfAgents {
	r.T.Helper()
	addr := rigtest.FreeAddr(r.T)
	p := &replicaOfAgents{r.Serve(append([]string{"--orchestrator-addr", addr}, args...)...), addr}
	r.address.Add(addr)
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
	c := agents.Config{
		URL: "ws://" + r.address.Addr(), Key: agentKey, Name: name, EndpointURL: "wss://" + name + ".example.com", RoomTypes: []string{"duel"},
		Random: func() float64 { return 0.1 }, // connects again soon
	}
	for _, f := range change {
		f(&c)
	}
	return agents.New(c)
}

// runAgent runs an agent until the test ends or the returned function is called. A frame that the protocol does not allow ends it before.
func (r *agentRig) runAgent(a *agents.Agent) (cut func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.T.Context()))
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	cut = sync.OnceFunc(func() {
		cancel()
		require.ErrorIs(r.T, <-done, context.Canceled)
	})
	r.T.Cleanup(cut)
	return cut
}

// call calls the REST API behind the address. Without an answer the status is 0.
func (r *agentRig) call(ctx context.Context, method, path string, body any) (status int, cause string, data json.RawMessage) {
	return r.callAt(ctx, r.address.Addr(), method, path, body)
}

// callAt calls the REST API at an address.
func (r *agentRig) callAt(ctx context.Context, addr, method, path string, body any) (status int, cause string, data json.RawMessage) {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, bytes.NewReader(text))
	require.NoError(r.T, err)
	req.Header.Set("Authorization", "Bearer "+adminKey)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Close = true // each call may reach another replica
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", nil
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Cause string          `json:"cause"`
		Data  json.RawMessage `json:"data"`
	}
	all, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, "", nil
	}
	_ = json.Unmarshal(all, &answer)
	return res.StatusCode, answer.Cause, answer.Data
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
	require.Eventually(r.T, func() bool { return one[int](r.rig, "SELECT count(*) FROM replicas") == n }, 30*time.Second, 20*time.Millisecond)
	return one[string](r.rig, "SELECT id::text FROM replicas ORDER BY steady_since DESC LIMIT 1")
}

func (r *agentRig) awaitListed(n int) {
	r.T.Helper()
	require.Eventually(r.T, func() bool { return r.listed() == n }, 30*time.Second, 50*time.Millisecond, "%d agents", n)
}

// create creates a room as callers should: it repeats the call until it gets an answer, and treats ROOM_EXISTS as success.
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
