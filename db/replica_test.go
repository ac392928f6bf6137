package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
)

func (r *rivalis) renew(id uuid.UUID) error {
	return r.RenewReplica(r.t.Context(), fleetRegion, id, time.Second)
}

func (r *rivalis) endExpired() int {
	r.t.Helper()
	return must.Get(r.EndExpiredReplicas(r.t.Context(), fleetRegion))(r.t)
}

func (r *rivalis) endAgents() int {
	r.t.Helper()
	return must.Get(r.EndAgents(r.t.Context(), fleetRegion))(r.t)
}

func (r *rivalis) horizon() *time.Time {
	r.t.Helper()
	return one[*time.Time](r.bundle, "SELECT nullif(replica_horizon($1), '-infinity')", fleetRegion)
}

// Pins two bugs: replicas expired because no replica could renew its lease, and replicas never expired.
func TestReplicasExpireOnlyBesideSteadyOnes(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	r.joined(first, "eu0", made("a", 1))
	require.Nil(t, r.horizon(), "a new replica is not steady")
	r.silent(first)
	require.Zero(t, r.endExpired())
	r.steady(second)
	require.NotNil(t, r.horizon())
	require.Equal(t, 1, r.endExpired())
	require.Zero(t, r.endExpired())
	requireSuperseded(t, r.renew(first))
	r.events()
	require.Equal(t, 1, r.endAgents())
	require.Equal(t, []string{"agent.left eu0"}, r.told())
	require.Zero(t, r.endAgents())
	r.requireCounted()
	require.NoError(t, r.renew(second))
}

// Pins a bug: after an outage of Postgres or of all replicas, one of the replicas counted as dead.
func TestAnOutageExpiresNobody(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	for _, replica := range []uuid.UUID{first, second} {
		r.steady(replica)
	}
	r.Exec("UPDATE replicas SET seen_at = clock_timestamp() - interval '1 minute'") // no lease is renewed for a minute
	require.NoError(t, r.renew(first))
	require.Zero(t, r.endExpired(), "the other replica has not had time to renew its lease")
	require.NoError(t, r.renew(second))
	require.Nil(t, r.horizon(), "a late renewal resets steady_since")
	r.Exec("UPDATE replicas SET steady_since = steady_since - interval '16 seconds' WHERE id = $1", first)
	require.NotNil(t, r.horizon())
	require.Zero(t, r.endExpired())
}

// Pins a bug: renewals from before a restart of Postgres made a replica steady.
func TestARenewalOnTimeKeepsAReplicaSteady(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	replica := r.beginReplica()
	r.steady(replica)
	since := one[time.Time](r.bundle, "SELECT steady_since FROM replicas")
	require.NoError(t, r.renew(replica))
	require.Equal(t, since, one[time.Time](r.bundle, "SELECT steady_since FROM replicas"))
	r.Exec("UPDATE replicas SET seen_at = seen_at - interval '5 seconds'")
	require.NoError(t, r.renew(replica))
	require.NotEqual(t, since, one[time.Time](r.bundle, "SELECT steady_since FROM replicas"), "a third of a lease late")
	require.InDelta(t, 1, one[float64](r.bundle, "SELECT extract(epoch FROM clock_timestamp() - heard_since)::float8 FROM replicas"), 0.9)
	r.Exec("UPDATE replicas SET seen_at = pg_postmaster_start_time(), steady_since = '-infinity'")
	require.Nil(t, r.horizon(), "before the restart")
}

// Pins two bugs: agents disappeared from lists during a rolling update, and agents stayed listed forever after it.
func TestAReplicaLeavesItsAgentsToOthers(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	ref := r.joined(first, "eu0")
	r.events()
	require.NoError(t, r.EndReplica(t.Context(), fleetRegion, first, time.Hour))
	require.Zero(t, r.endAgents())
	require.Empty(t, r.told(), "listed")
	requireSuperseded(t, r.renew(first))
	r.Exec("UPDATE replicas SET rows_until = now() - interval '1 second' WHERE id = $1", first)
	require.Zero(t, r.endAgents(), "the other replica is not steady: agents may have been unable to join it")
	r.steady(second)
	require.Equal(t, 1, r.endAgents())
	require.Equal(t, []string{"agent.left eu0"}, r.told())
	require.Equal(t, 1, one[int](r.bundle, "SELECT count(*) FROM agent_states WHERE agent_id = $1 AND left_at IS NOT NULL", ref.ID))
}

// Pins two bugs: agents were listed although no replica was left, and two stopping replicas each left their agents to
// the other.
func TestTheLastReplicaTakesAgentsAlong(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	first, second := r.beginReplica(), r.beginReplica()
	r.joined(first, "eu0")
	r.joined(second, "eu1")
	r.events()
	ended := make(chan error, 2)
	for _, replica := range []uuid.UUID{first, second} {
		go func() { ended <- r.EndReplica(t.Context(), fleetRegion, replica, time.Hour) }()
	}
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	require.ElementsMatch(t, []string{"agent.left eu0", "agent.left eu1"}, r.told())
	require.Zero(t, one[int](r.bundle, "SELECT count(*) FROM agent_states WHERE left_at IS NULL"))
}

// Pins two bugs: rows of agents and replicas were never deleted, or were deleted before a roster had read them.
func TestAgentsAreForgotten(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	replica := r.beginReplica()
	ref := r.joined(replica, "eu0")
	require.NoError(t, r.EndReplica(t.Context(), fleetRegion, replica, 0))
	forget := func() (agents, replicas int) {
		agents, err := r.ForgetAgents(t.Context(), fleetRegion, 10)
		require.NoError(t, err)
		replicas, err = r.ForgetReplicas(t.Context(), fleetRegion)
		require.NoError(t, err)
		return agents, replicas
	}
	agents, replicas := forget()
	require.Zero(t, agents+replicas)
	r.Exec("UPDATE agent_states SET left_at = left_at - interval '10 minutes'")
	r.Exec("UPDATE replicas SET ended_at = ended_at - interval '10 minutes'")
	agents, replicas = forget()
	require.Equal(t, 2, agents+replicas)
	require.Zero(t, one[int](r.bundle, "SELECT (SELECT count(*) FROM agents) + (SELECT count(*) FROM agent_states) + (SELECT count(*) FROM replicas)"))
	_, err := r.ApplySnapshot(t.Context(), db.AgentSnapshot{Ref: ref})
	requireSuperseded(t, err)
}
