package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a plan that was made for an empty table and stayed while the table grew: a lookup of one player's seats read all
// seats.
func TestTablesThatGrewAreAnalyzed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := loopOf(t, b.options(), "analyze")
	require.Empty(t, once(t, l), "a small table is not analyzed")
	b.Exec("INSERT INTO instance_directory SELECT 'i' || n, 'eu', gen_random_uuid() FROM generate_series(1, 1000) n")
	// Postgres updates its row counts a moment after the commit.
	require.Eventually(t, func() bool { return once(t, l)["tables_analyzed"] == 1 }, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, 1000, storetest.One[int](b.DB, "SELECT reltuples FROM pg_class WHERE relname = 'instance_directory'"))
	require.Empty(t, once(t, l))
}

// Pins a table locked by maintenance, because of which no other table was analyzed either.
func TestALockedTableDoesNotBlockAnalyzeOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := loopOf(t, b.options(), "analyze")
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	// as VACUUM and CREATE INDEX CONCURRENTLY do
	_, err = tx.Exec(t.Context(), "LOCK TABLE idempotency_keys IN SHARE UPDATE EXCLUSIVE MODE")
	require.NoError(t, err)
	b.Exec("INSERT INTO instance_directory SELECT 'i' || n, 'eu', gen_random_uuid() FROM generate_series(1, 1000) n")
	b.Exec("INSERT INTO idempotency_keys SELECT 'c' || n, 'k', '', '{}', now() + interval '1 day' FROM generate_series(1, 1000) n")
	analyzed := func(table string) bool {
		return storetest.One[bool](b.DB, "SELECT EXISTS (SELECT FROM pg_stats WHERE tablename = $1)", table)
	}
	require.Eventually(t, func() bool { once(t, l); return analyzed("instance_directory") }, 20*time.Second, 50*time.Millisecond)
	require.False(t, analyzed("idempotency_keys"))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Eventually(t, func() bool { once(t, l); return analyzed("idempotency_keys") }, 20*time.Second, 50*time.Millisecond)
}
