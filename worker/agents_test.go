package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// replicaWith begins a replica of the fleet "global" with agents, each with a room.
func (b *bundle) replicaWith(agents int) uuid.UUID {
	b.t.Helper()
	replica := must.Get(b.BeginReplica(b.t.Context(), "global"))(b.t)
	for i := range agents {
		ref := db.AgentRef{Region: "global", ID: fmt.Sprintf("%08x%08x", replica.ID(), i), ReplicaID: replica}
		must.Get(b.JoinAgent(b.t.Context(), storetest.AgentJoin(ref, fmt.Sprint("eu", i), func(j *db.AgentJoin) {
			j.Content.ProcessUID = replica.String()
			j.ReportedRooms = []db.ReportedRoom{{RawID: "lobby", Type: "duel", IsLocal: true}}
		})))(b.t)
	}
	return replica
}

// Pins agents of a replica that was killed, which callers see for ever, and agents that two workers end twice.
func TestAgentsOfDeadReplicasLeave(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := loopOf(t, b.options(), "agents")
	require.Empty(t, once(t, l))
	dead, live := b.replicaWith(300), b.replicaWith(1)
	b.Exec("UPDATE replicas SET seen_at = now() - interval '1 minute' WHERE id = $1", dead)
	require.Empty(t, once(t, l), "no replica is steady")
	b.Exec("UPDATE replicas SET steady_since = now() - interval '1 minute' WHERE id = $1", live)
	require.Equal(t, Done{"replicas": 1, "agents": 300}, b.race(3, "agents", b.options()))
	require.Empty(t, once(t, l))
	require.Equal(t, 300, storetest.One[int](b.DB, "SELECT count(*) FROM events WHERE kind = 'agent.left'"))
	require.Equal(t, 1, storetest.One[int](b.DB, "SELECT count(*) FROM rooms"))
	b.RequireInvariants()

	b.Exec("UPDATE agent_states SET left_at = left_at - interval '10 minutes'")
	b.Exec("UPDATE replicas SET ended_at = ended_at - interval '10 minutes'")
	require.Equal(t, Done{"agents": 300, "replicas": 1}, once(t, loopOf(t, b.options(), "prune")))
	require.Empty(t, once(t, l))
}

// Pins commands that stay pending, and take a place among the 32 of an agent, after the replica of their caller was
// killed.
func TestCommandsWithoutACallerEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	replica := b.replicaWith(1)
	agent := storetest.One[string](b.DB, "SELECT agent_id FROM agent_states")
	l := loopOf(t, b.options(), "agents")
	b.Exec(`INSERT INTO commands (region, id, agent_id, replica, op, deadline) VALUES ('global', gen_random_uuid(), $1, $2, 'drain', now() - interval '1 minute'),
		('global', gen_random_uuid(), $1, $2, 'drain', now() + interval '1 minute')`, agent, replica)
	b.Exec("UPDATE agent_states SET in_flight = 2")
	require.Equal(t, Done{"commands_timed_out": 1}, once(t, l))
	require.Empty(t, once(t, l))
	b.RequireInvariants()
	b.Exec("UPDATE commands SET settled_at = settled_at - interval '2 minutes' WHERE state = 'timed_out'")
	prune := loopOf(t, b.options(), "prune")
	require.Empty(t, once(t, prune), "the agent may still acknowledge it")
	b.Exec("UPDATE commands SET settled_at = settled_at - interval '10 minutes' WHERE state = 'timed_out'")
	require.Equal(t, Done{"commands": 1}, once(t, prune))
}

// Pins a game server that is to stay drained, and does not drain since the command was lost.
func TestKeptDrainsAreSentAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.replicaWith(1)
	_, err := b.KeepDrain(t.Context(), "global", "eu0", "wss://eu0", "sql:ann")
	require.NoError(t, err)
	r := &agentReaper{store: b.Store}
	b.Exec("UPDATE commands SET deadline = now() - interval '1 minute'")
	done, err := r.runOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, Done{"commands_timed_out": 1, "drains_sent": 1}, done)
	b.Exec("UPDATE commands SET deadline = now() - interval '1 minute'")
	done, err = r.runOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, Done{"commands_timed_out": 1}, done, "not every second")
	r.remindedAt = time.Now().Add(-remindEvery)
	done, err = r.runOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, Done{"drains_sent": 1}, done)
	b.RequireInvariants()
}
