package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestTablesWithMoreDeadThanLiveRowsAreVacuumed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := loopOf(t, b.options(), "vacuum")
	require.Empty(t, once(t, l))
	b.Exec("INSERT INTO idempotency_keys (caller, key, request_hash, answer, expires_at) SELECT 'p' || n, 'k', '', '{}', now() FROM generate_series(1, 3000) n")
	b.Exec("DELETE FROM idempotency_keys")
	// Postgres updates its row counts a moment after the commit, and snapshots of other tests may keep these rows alive
	// for a while.
	require.Eventually(t, func() bool {
		once(t, l)
		return storetest.One[int](b.DB, "SELECT pg_stat_get_vacuum_count('idempotency_keys'::regclass)") > 0
	}, 20*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool { return len(once(t, l)) == 0 }, 20*time.Second, 50*time.Millisecond)
}
