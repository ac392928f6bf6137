package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins an ops view from which operators cannot see whether any worker runs, and loops that fail and look healthy in it.
func TestLoopsRecordTheirSuccess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Zero(t, one[int](b, "SELECT count(*) FROM ops.worker_loops"))
	d := drive(t, only(t, b.options(), "reap"))
	require.NoError(t, (<-d.results).err)
	d.tick <- struct{}{}
	require.NoError(t, (<-d.results).err)
	require.Equal(t, "reap 00:00:01 f", one[string](b, "SELECT loop || ' ' || every || ' ' || left(late::text, 1) FROM ops.worker_loops"))

	b.exec("UPDATE worker_loops SET succeeded_at = now() - interval '61 seconds'")
	require.True(t, one[bool](b, "SELECT late FROM ops.worker_loops"))
	l := loopOf(t, b.options(), "reap")
	l.recordSuccess(t.Context())
	require.False(t, one[bool](b, "SELECT late FROM ops.worker_loops"))

	b.exec("UPDATE worker_loops SET succeeded_at = now() - interval '9 seconds'")
	l.recordSuccess(t.Context())
	loopOf(t, b.options(), "reap").recordSuccess(t.Context())
	require.Greater(t, one[time.Duration](b, "SELECT age FROM ops.worker_loops"), 8*time.Second, "written once in ten seconds, by whichever worker")
}
