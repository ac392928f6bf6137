package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins plans made for an empty table being kept while it grows: a lookup of a player's seats read all of them.
func TestTablesThatGrewAreAnalyzed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := loopOf(t, b.options(), "analyze")
	require.Empty(t, once(t, l), "a small table is no matter")
	b.exec("INSERT INTO instance_directory SELECT 'i' || n, 'eu', gen_random_uuid() FROM generate_series(1, 1000) n")
	// Postgres counts rows a moment after they were committed.
	require.Eventually(t, func() bool { return once(t, l)["tables_analyzed"] == 1 }, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, 1000, one[int](b, "SELECT reltuples FROM pg_class WHERE relname = 'instance_directory'"))
	require.Empty(t, once(t, l))
}
