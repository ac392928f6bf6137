package db_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins pools that together start more servers than somebody can pay.
func TestLimitsOverAllPools(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET min_servers = 7")
	require.True(t, one[bool](b, "SELECT ops.limit_pools(3, NULL)"))
	require.False(t, one[bool](b, "SELECT ops.limit_pools(3, NULL)"))
	require.Equal(t, provision.Scaled{PlannedPools: 1, StartedServers: 3}, b.scale())
	require.Contains(t, b.plan().Text, "start 7; the limits over all pools let 3 of these start")
	require.Equal(t, 3, b.plan().Coming)
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale())
	extra := provision.NewDeployment{ID: uuid.New(), App: "arena", Version: "1", Provider: "process", Tag: "t"}
	requireKind(t, fault.Conflict, "pool_limit", b.StartDeployment(t.Context(), "eu", extra))

	b.Exec("UPDATE deployments SET phase = 'stopping', desired = 'stopped'")
	require.Equal(t, 0, b.scale().StartedServers, "a server that ends counts until it is gone")
	b.Exec("DELETE FROM deployments")
	require.Equal(t, 3, b.scale().StartedServers)

	b.Exec("SELECT ops.limit_pools(NULL, 5)")
	require.Equal(t, 2, b.scale().StartedServers)
	b.Exec("UPDATE deployments SET created_at = now() - interval '61 minutes'")
	require.Equal(t, 2, b.scale().StartedServers, "of 7")
	b.Exec("SELECT ops.limit_pools(NULL, NULL)")
	require.NoError(t, b.StartDeployment(t.Context(), "eu", extra))
	require.Equal(t, []string{`{"starts": null, "servers": 3}`, `{"starts": 5, "servers": null}`, `{"starts": null, "servers": null}`},
		storetest.Values[string](b.DB, "SELECT detail::text FROM ops.events WHERE kind = 'pools.limited' ORDER BY at"))
}

// Pins workers that plan pools at the same time and each take the last server.
func TestWorkersObeyTheLimitsTogether(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("INSERT INTO app_versions SELECT (jsonb_populate_record(v, jsonb_build_object('version', n))).* FROM app_versions v, generate_series(2, 6) n")
	b.Exec("UPDATE pools SET min_servers = 10, max_servers = 10")
	b.Exec("INSERT INTO pools SELECT (jsonb_populate_record(p, jsonb_build_object('version', n))).* FROM pools p, generate_series(2, 6) n")
	b.Exec("SELECT ops.limit_pools(25, NULL)")
	var workers sync.WaitGroup
	for _, s := range []*db.Store{b.Store, b.Replica(), b.Replica()} {
		workers.Go(func() {
			for range 20 {
				_, _ = s.PlanPools(t.Context(), "eu", time.Microsecond, sealTest)
			}
		})
	}
	workers.Wait()
	require.Equal(t, 25, one[int](b, "SELECT count(*) FROM deployments"))
}

// Pins a limit that comes back because a command that sets the other one has read it before.
func TestALimitIsSetBesideTheOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := must.Get(b.Pool().Begin(t.Context()))(t) // a command in the middle of its change
	_, err := other.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtext('director.limits_of_pools')), ops.limit_pools(5, NULL)")
	require.NoError(t, err)
	set := make(chan error, 1)
	go func() {
		_, err := b.As("").LimitPools(t.Context(), nil, &db.Limit{Count: new(int32(7))})
		set <- err
	}()
	b.Eventually(1, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	require.NoError(t, other.Commit(t.Context()))
	require.NoError(t, <-set)
	require.Equal(t, "5 7", one[string](b, "SELECT max_servers || ' ' || max_starts FROM ops.pool_limits"))
	_, err = b.As("").LimitPools(t.Context(), &db.Limit{}, nil)
	require.NoError(t, err)
	require.Equal(t, "none 7", one[string](b, "SELECT coalesce(max_servers::text, 'none') || ' ' || max_starts FROM ops.pool_limits"))
}
