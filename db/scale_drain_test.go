package db

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// waitingClock makes now() of a session with the search path public, pg_catalog wait for an advisory lock: its statements stop after their snapshot.
const waitingClock = `
	CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_advisory_xact_lock_shared(7);
		RETURN pg_catalog.now();
	END $$`

// Pins a server that ends with players on it: the reservation is committed after the snapshot of the statement that chooses empty servers.
func TestAReservationBehindTheSnapshotKeepsItsServer(t *testing.T) {
	t.Parallel()
	store := storeWith(t, deployedState+`;
		UPDATE deployments SET app = 'lone', ready_at = now() - interval '1 hour', drain_at = NULL, lost_at = NULL WHERE id = (SELECT id FROM deployments LIMIT 1);`+waitingClock)
	other, err := pgx.Connect(t.Context(), store.cfg.URL)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close(t.Context())) }()
	exec := func(query string) {
		t.Helper()
		_, err := other.Exec(t.Context(), query)
		require.NoError(t, err)
	}
	exec("UPDATE instances SET status = 'ready', open_sessions = 0, emptied_at = pg_catalog.now() - interval '1 hour' WHERE deployment_id = (SELECT id FROM deployments WHERE app = 'lone')")
	exec("SELECT pg_advisory_lock(7)")

	slow, err := pgx.Connect(t.Context(), store.cfg.URL)
	require.NoError(t, err)
	defer func() { require.NoError(t, slow.Close(t.Context())) }()
	_, err = slow.Exec(t.Context(), "SET search_path = public, pg_catalog")
	require.NoError(t, err)
	drain := func() int {
		ids, err := New(slow).DrainEmpty(t.Context(), DrainEmptyParams{Region: "eu", App: "lone", Version: "1", EmptyTtl: time.Minute, AtMost: 10})
		if err != nil {
			t.Error(err)
		}
		return len(ids)
	}
	drained := make(chan int, 1)
	go func() { drained <- drain() }()
	require.Eventually(t, func() bool {
		var blocked bool
		require.NoError(t, other.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)").Scan(&blocked))
		return blocked
	}, 30*time.Second, time.Millisecond)
	exec("UPDATE instances SET open_sessions = 1 WHERE deployment_id = (SELECT id FROM deployments WHERE app = 'lone')")
	exec("SELECT pg_advisory_unlock(7)")
	require.Zero(t, <-drained, "somebody has a seat on it")
	exec("UPDATE instances SET open_sessions = 0 WHERE deployment_id = (SELECT id FROM deployments WHERE app = 'lone')")
	require.Equal(t, 1, drain(), "empty again")
}
