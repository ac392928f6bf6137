package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins a replica that is ready without a connection, whose first calls take half a second, and one that a slow
// statement keeps from being ready.
func TestAReplicaIsReadyWithConnectionsOnly(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, setup(t).store.Pool().Stat().TotalConns(), int32(4))

	first := setup(t)
	release := first.store.Hold("LOCK TABLE agents IN ACCESS EXCLUSIVE MODE")
	b := start(t, first.config.db.URL)
	require.NoError(t, b.store.ReadClock(t.Context()))
	require.NoError(t, b.keys.Refresh(t.Context()))
	b.eventually(func() bool {
		a := b.get("/readyz")
		return a.status == http.StatusServiceUnavailable && len(a.problem(a.status, "unavailable")["errors"].([]any)) == 1
	})
	release()
	b.eventually(func() bool { return b.get("/readyz").status == http.StatusOK })

	release = first.store.Hold("LOCK TABLE agents IN ACCESS EXCLUSIVE MODE")
	defer release()
	slow := start(t, first.config.db.URL)
	require.NoError(t, slow.store.ReadClock(t.Context()))
	require.NoError(t, slow.keys.Refresh(t.Context()))
	slow.eventually(func() bool { return slow.get("/readyz").status == http.StatusOK })
}

// A database that is away makes neither the start nor the stop of a replica wait.
func TestWarmingUpWithoutADatabase(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	b := start(t, url+"&port=1")
	require.Equal(t, http.StatusServiceUnavailable, b.get("/readyz").status)
	b.stop()
}
