package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

func (n *nexis) endExpiredReplicas() int {
	n.t.Helper()
	return must.Get(n.EndExpiredRealtimeReplicas(n.t.Context(), lobbyRegion))(n.t)
}

func TestRealtimeReplicasExpireOnlyBesideSteadyOnes(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	second := n.beginReplica(n.Store)
	n.silent(n.replica)
	require.Zero(t, n.endExpiredReplicas(), "a new replica is not steady")
	n.steady(second)
	require.Equal(t, 1, n.endExpiredReplicas())
	require.Zero(t, n.endExpiredReplicas())
	requireSuperseded(t, n.RenewRealtimeReplica(t.Context(), lobbyRegion, n.replica))
	require.NoError(t, n.RenewRealtimeReplica(t.Context(), lobbyRegion, second))
	n.Exec("UPDATE replicas SET ended_at = ended_at - interval '10 minutes' WHERE ended_at IS NOT NULL")
	owned := n.open(n.client("ann", at(second)))
	n.Exec("UPDATE realtime_sessions SET owner = $1 WHERE id = $2", n.replica, owned.SessionID)
	require.Zero(t, n.forgetReplicas(), "a worker must still find its sessions")
	n.suspend(true, owned)
	require.Equal(t, 1, n.forgetReplicas())
}

func (n *nexis) forgetReplicas() int {
	n.t.Helper()
	return must.Get(n.ForgetRealtimeReplicas(n.t.Context(), lobbyRegion))(n.t)
}

// Pins replicas of one face that count for the other in a region that has both: agents left a silent replica of the
// orchestrator since the realtime lobby was served, or stayed although nobody could take them over; sessions of a
// silent replica ended since agents were polled.
func TestTheReplicasOfTwoFacesDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	lobby := func() uuid.UUID {
		t.Helper()
		id, err := r.BeginRealtimeReplica(t.Context(), fleetRegion)
		require.NoError(t, err)
		return id
	}
	expired := func() (agents, sessions int) {
		t.Helper()
		sessions, err := r.EndExpiredRealtimeReplicas(t.Context(), fleetRegion)
		require.NoError(t, err)
		return r.endExpired(), sessions
	}
	agents, sessions := r.beginReplica(), lobby()
	r.joined(agents, "eu0")

	r.silent(agents)
	r.steady(sessions)
	a, s := expired()
	require.Zero(t, a+s, "a steady replica of the lobby is no evidence that agents could have joined another one")
	require.Nil(t, r.horizon())
	r.steady(agents)
	r.silent(sessions)
	a, s = expired()
	require.Zero(t, a+s, "and the other way round")
	require.NotNil(t, r.horizon())

	r.steady(sessions)
	r.silent(agents)
	heir := r.beginReplica()
	r.steady(heir)
	a, s = expired()
	require.Equal(t, [2]int{1, 0}, [2]int{a, s})
	require.Equal(t, 1, r.endAgents())
	require.NoError(t, r.RenewRealtimeReplica(t.Context(), fleetRegion, sessions))

	r.joined(heir, "eu1")
	require.NoError(t, r.EndReplica(t.Context(), fleetRegion, heir, time.Hour))
	require.Zero(t, one[int](r.bundle, "SELECT count(*) FROM agent_states WHERE left_at IS NULL"),
		"the replica of the lobby takes over no agents: they leave at once")
	require.Nil(t, one[*time.Time](r.bundle, "SELECT ended_at FROM replicas WHERE id = $1", sessions))
}

// Pins agents that stayed listed after the last replica of the orchestrator had ended, since a replica of the lobby was
// live.
func TestAgentsDoNotWaitForAReplicaOfTheLobby(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	_, err := r.BeginRealtimeReplica(t.Context(), fleetRegion)
	require.NoError(t, err)
	r.joined(first, "eu0")
	require.NoError(t, r.EndReplica(t.Context(), fleetRegion, first, time.Hour))
	require.Zero(t, r.endAgents())
	require.NoError(t, r.EndReplica(t.Context(), fleetRegion, second, time.Hour))
	require.Zero(t, one[int](r.bundle, "SELECT count(*) FROM agent_states WHERE left_at IS NULL"))

	third := r.beginReplica()
	r.joined(third, "eu1")
	r.Exec("UPDATE replicas SET ended_at = now(), rows_until = now() - interval '1 second' WHERE id = $1", third)
	require.Equal(t, 1, r.endAgents(), "compared with the clock, not with the horizon of the lobby")
}
