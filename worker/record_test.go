package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins an ops view from which operators cannot see whether any worker runs, and loops that fail and look healthy in it.
func TestLoopsRecordTheirSuccess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Zero(t, storetest.One[int](b.DB, "SELECT count(*) FROM ops.worker_loops"))
	d := drive(t, only(t, b.options(), "reap"))
	require.NoError(t, (<-d.results).err)
	d.tick <- struct{}{}
	require.NoError(t, (<-d.results).err)
	require.Equal(t, "reap 00:00:01 f", storetest.One[string](b.DB, "SELECT loop || ' ' || every || ' ' || left(late::text, 1) FROM ops.worker_loops"))

	b.Exec("UPDATE worker_loops SET succeeded_at = now() - interval '61 seconds'")
	require.True(t, storetest.One[bool](b.DB, "SELECT late FROM ops.worker_loops"))
	l := loopOf(t, b.options(), "reap")
	l.recordSuccess(t.Context())
	require.False(t, storetest.One[bool](b.DB, "SELECT late FROM ops.worker_loops"))

	b.Exec("UPDATE worker_loops SET succeeded_at = now() - interval '9 seconds'")
	l.recordSuccess(t.Context())
	loopOf(t, b.options(), "reap").recordSuccess(t.Context())
	require.Greater(t, storetest.One[time.Duration](b.DB, "SELECT age FROM ops.worker_loops"), 8*time.Second, "written once in ten seconds, by whichever worker")
}
