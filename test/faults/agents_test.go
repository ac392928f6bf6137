package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

// Replicas with agents are killed while callers create rooms. Each room that a caller got exists on exactly one game
// server, and the agents are soon listed again.
func TestAgentsSurviveTheirReplicas(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	replicas := []*replicaOfAgents{r.addReplica("--work"), r.addReplica(), r.addReplica()}
	const servers, callers = 12, 8
	games := r.attachAll(servers)

	ctx, stop := context.WithTimeout(t.Context(), 12*time.Second)
	defer stop()
	var made sync.Map
	var creating sync.WaitGroup
	for n := range callers {
		creating.Go(func() {
			for turn := 0; ctx.Err() == nil; turn++ {
				id := fmt.Sprintf("room-%d-%d", n, turn)
				if r.createUntilDone(ctx, id) {
					made.Store(id, true)
				}
			}
		})
	}
	for kills := 0; ; kills++ {
		pause(ctx, 2*time.Second)
		if ctx.Err() != nil {
			break
		}
		n := 1 + kills%2 // the first replica is not killed, because it is the worker
		replicas[n].Process.Kill()
		r.address.RemoveAddr(replicas[n].orchestrator)
		replicas[n] = r.addReplica()
	}
	creating.Wait()
	r.awaitListed(servers)

	// The rooms in the agents' processes are the reference.
	hosts := map[string]int{}
	for _, a := range games {
		for _, room := range a.Snapshot().Rooms {
			hosts[room.ID]++
		}
	}
	count := 0
	made.Range(func(id, _ any) bool {
		count++
		require.Equal(t, 1, hosts[id.(string)], "%s is on one game server", id)
		require.Eventually(t, func() bool {
			status, _, _ := r.call(t.Context(), http.MethodGet, "/v1/rooms/"+id.(string), nil)
			return status == http.StatusOK
		}, 10*time.Second, 50*time.Millisecond, "%s is found", id)
		return true
	})
	require.Greater(t, count, 50)
	t.Logf("%d rooms on %d game servers", count, servers)
	r.RequireInvariants()
}

// While a replica is frozen, the others answer. When it continues, its agents are connected to other replicas.
func TestAFrozenReplicaOfAgents(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAgentsSurviveTheirReplicas")
	r := newAgentRig(t, "DIRECTOR_LEASE_TTL=3s")
	r.addReplica("--work")
	frozen := r.addReplica()
	const servers = 6
	r.attachAll(servers)
	require.Positive(t, one[int](r.rig, "SELECT count(DISTINCT replica) - 1 FROM agent_states WHERE left_at IS NULL"),
		"both replicas have agents")

	require.NoError(t, frozen.Process.Signal(syscall.SIGSTOP))
	r.address.RemoveAddr(frozen.orchestrator)
	var slowest time.Duration
	for n := range 20 {
		began := time.Now()
		status, _, _ := r.call(t.Context(), http.MethodGet, "/v1/instances", nil)
		require.Equal(t, http.StatusOK, status)
		require.Truef(t, r.createUntilDone(t.Context(), fmt.Sprint("while-frozen-", n)), "room %d", n)
		slowest = max(slowest, time.Since(began))
		pause(t.Context(), 100*time.Millisecond)
	}
	t.Logf("slowest list and create: %s", slowest)
	require.Less(t, slowest, 6*time.Second,
		"a lease, after which the commands for the frozen replica's agents end, and a second for others")
	require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
	r.address.AddAddr(frozen.orchestrator)
	r.awaitListed(servers)
	r.AwaitTrue("SELECT count(*) = $1 FROM agent_states WHERE left_at IS NULL AND NOT doubted", servers)
	r.RequireInvariants()
}

// While Postgres does not answer, agents stay connected and lists are served. When it is back, no agent has left.
func TestAgentsOutlastPostgres(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAgentsSurviveTheirReplicas")
	r := newAgentRig(t, "DIRECTOR_LEASE_TTL=3s")
	r.addReplica("--work")
	const servers = 4
	var closed sync.Map
	r.attachAll(servers, func(c *agents.Config) { c.Closed = func(err error) { closed.Store(c.Name, err) } })
	require.True(t, r.createUntilDone(t.Context(), "before"))

	require.NoError(t, r.Cluster.StopImmediate())
	pause(t.Context(), 8*time.Second) // longer than a lease
	status, _, data := r.call(t.Context(), http.MethodGet, "/v1/instances", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(data), "eu3")
	status, cause, _ := r.call(t.Context(), http.MethodPost, "/v1/rooms", fields{"type": "duel"})
	require.Equal(t, http.StatusServiceUnavailable, status, cause)
	require.NoError(t, r.Cluster.Start(t.Context()))

	require.True(t, r.createUntilDone(t.Context(), "after"))
	r.awaitListed(servers)
	closed.Range(func(n, err any) bool {
		require.Fail(t, "a connection ended", "%v: %v", n, err)
		return false
	})
	status, _, _ = r.call(t.Context(), http.MethodGet, "/v1/rooms/before", nil)
	require.Equal(t, http.StatusOK, status)
	r.RequireInvariants()
}

// The replica of a third of a large fleet is killed, and the other replicas list these agents again within seconds.
// DIRECTOR_TEST_AGENTS sets the number of game servers; each needs several open files of this process.
func TestManyAgentsAreListedAgain(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAgentsSurviveTheirReplicas")
	servers := 150
	if n, err := strconv.Atoi(os.Getenv("DIRECTOR_TEST_AGENTS")); err == nil {
		servers = n
	}
	r := newAgentRig(t, "DIRECTOR_ORCHESTRATOR_HEARTBEAT=5s")
	r.addReplica("--work")
	r.awaitReplicas(1)
	killed := r.addReplica()
	lost := r.awaitReplicas(2)
	r.addReplica()
	r.attachAll(servers, func(c *agents.Config) { c.Random = nil })

	killed.Process.Kill()
	r.address.RemoveAddr(killed.orchestrator)
	began := time.Now()
	r.AwaitTrue("SELECT count(*) = $1 FROM agent_states WHERE left_at IS NULL AND NOT doubted AND replica <> $2", servers, lost)
	t.Logf("%d game servers are with living replicas %s after the third replica was killed", servers, time.Since(began))
	r.awaitListed(servers)
	t.Logf("all are listed after %s", time.Since(began))
	r.RequireInvariants()
}

// silentServer is a game server that executes commands, and sends nothing from its first acknowledgement on, until isOver
// is set.
type silentServer struct {
	hasBegun, isOver atomic.Bool
	begun            chan struct{} // receives when the first acknowledgement was held back
}

func newSilentServer() *silentServer { return &silentServer{begun: make(chan struct{}, 1)} }

// send sends a message of the game server, or holds it back.
func (s *silentServer) send(topic string, send func()) {
	if topic == "fleet/ack" && s.hasBegun.CompareAndSwap(false, true) {
		s.begun <- struct{}{}
	}
	if !s.hasBegun.Load() || s.isOver.Load() { // a state that shows the room would do as well as the acknowledgement
		send()
	}
}

// The replica that holds the agent's connection is killed after the game server has created the room and before the
// acknowledgement arrives. The caller, on another replica, gets the room: the agent connects there, and shows it.
func TestACreateSurvivesTheReplicaOfItsAgent(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAgentsSurviveTheirReplicas")
	r := newAgentRig(t)
	first := r.addReplica()
	silent := newSilentServer()
	game, _ := r.attach("eu1", func(c *agents.Config) { c.Send = silent.send })
	r.awaitListed(1)
	before := game.InstanceID()
	second := r.addReplica("--work")

	answered := make(chan json.RawMessage, 1)
	go func() {
		status, cause, data := r.CallOrchestrator(t.Context(), second.orchestrator, http.MethodPost, "/v1/rooms",
			fields{"type": "duel", "roomId": "finale"})
		if status != http.StatusCreated {
			data = json.RawMessage(fmt.Sprintf("%d %s", status, cause))
		}
		answered <- data
	}()
	<-silent.begun
	first.Process.Kill()
	r.address.RemoveAddr(first.orchestrator)
	silent.isOver.Store(true)
	var room struct {
		ID         string `json:"id"`
		InstanceID string `json:"instanceId"`
	}
	data := <-answered
	require.NoError(t, json.Unmarshal(data, &room), "%s", data)
	require.Equal(t, "finale", room.ID)
	require.NotEqual(t, before, room.InstanceID, "it is a new connection")
	require.Len(t, game.Snapshot().Rooms, 1)
	r.RequireInvariants()
}

// A game server that dies with a command in flight ends the call at once.
func TestACallEndsWithItsGameServer(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAgentsSurviveTheirReplicas")
	r := newAgentRig(t)
	r.addReplica("--work")
	silent := newSilentServer()
	_, cut := r.attach("eu1", func(c *agents.Config) { c.Send = silent.send })
	r.awaitListed(1)
	answered := make(chan string, 1)
	go func() {
		status, cause, _ := r.call(t.Context(), http.MethodPost, "/v1/rooms", fields{"type": "duel"})
		answered <- fmt.Sprint(status, " ", cause)
	}()
	<-silent.begun
	cut()
	require.Equal(t, "502 INSTANCE_DISCONNECTED", <-answered)
	r.awaitListed(0)
	r.RequireInvariants()
}
