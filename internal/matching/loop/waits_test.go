package loop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/estimate"
)

// Pins estimates that vanish whenever a profile changes hands, and ones that stay when nobody plays any more.
func TestWaitingTimesSurviveTheirOwner(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_000_000, 0)
	stored := []db.WaitingTime{{UpTo: 5, P50: time.Second, P90: time.Minute, SampleCount: 40}}
	w := newWaits(stored, start)
	times, isNew := w.publishTimes(start, 3)
	require.Equal(t, stored, times)
	require.False(t, isNew, "the database has them")
	times, isNew = w.publishTimes(start.Add(formerFor), 3)
	require.Empty(t, times)
	require.True(t, isNew, "they are of a queue that is over")

	w = newWaits(stored, start)
	for i := range 2 * estimate.LeastWaits {
		at := start.Add(time.Duration(i) * time.Second)
		w.publishTimes(at, 10)
		w.estimator.End(at, at, 7)
	}
	times, isNew = w.publishTimes(start.Add(time.Minute), 10)
	require.True(t, isNew, "the new owner knows enough")
	require.Equal(t, 7.0, times[0].UpTo)
	require.Equal(t, estimate.LeastWaits, w.unstoredCounts.WaitCount,
		"those that had an estimate when they began, until it is stored")
	w.storedTimes = times
	_, isNew = w.publishTimes(start.Add(time.Minute), 10)
	require.False(t, isNew)
}
