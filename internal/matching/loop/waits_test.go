package loop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

func filled(n int, waited func(i int) time.Duration, number func(i int) float64) *waits {
	w := &waits{}
	for i := range n {
		w.add(sample{time.Unix(int64(i), 0), waited(i), number(i)})
	}
	return w
}

func TestWaitingTimesByNumber(t *testing.T) {
	t.Parallel()
	seconds := func(i int) time.Duration { return time.Duration(i%100) * time.Second }
	tenths := filled(1000, seconds, func(i int) float64 { return float64(i) })
	require.True(t, tenths.mustStore(time.Unix(1000-1, 0)))
	times := tenths.times()
	require.Len(t, times, 10)
	require.Equal(t, db.WaitingTime{UpTo: 189, P50: 45 * time.Second, P90: 81 * time.Second, Samples: 91}, times[0], "a tenth of what is not too old")
	require.Equal(t, 999.0, times[len(times)-1].UpTo)

	require.Equal(t, []db.WaitingTime{{UpTo: 5, P50: 9 * time.Second, P90: 17 * time.Second, Samples: 19}},
		filled(19, seconds, func(int) float64 { return 5 }).times(), "too few to group")
	require.Len(t, filled(500, seconds, func(int) float64 { return 0 }).times(), 1, "equal numbers stay together")
	require.Equal(t, []int{20, 35}, samplesOf(filled(55, seconds, func(i int) float64 { return float64(i) }).times()), "no group is smaller than 20")
	require.Empty(t, (&waits{}).times())
}

func samplesOf(times []db.WaitingTime) (n []int) {
	for _, t := range times {
		n = append(n, t.Samples)
	}
	return n
}

// Memory is bounded, and what is old is forgotten: also the database learns that nothing is known.
func TestOldWaitingTimesAreForgotten(t *testing.T) {
	t.Parallel()
	w := filled(10*samplesKept, func(int) time.Duration { return 0 }, func(int) float64 { return 0 })
	require.Less(t, len(w.samples), 2*samplesKept)
	last := time.Unix(10*samplesKept-1, 0)
	require.True(t, w.mustStore(last))
	require.Equal(t, int(samplesFor/time.Second)+1, w.times()[0].Samples)
	w.changed = false
	require.False(t, w.mustStore(last))
	require.True(t, w.mustStore(last.Add(time.Hour)))
	require.Empty(t, w.times())
}

// Pins estimates that vanish whenever a profile changes hands.
func TestWaitingTimesSurviveTheirOwner(t *testing.T) {
	t.Parallel()
	before := filled(400, func(i int) time.Duration { return time.Duration(i%40) * time.Second }, func(i int) float64 { return float64(i / 40) }).times()
	require.Len(t, before, 10)
	after := restored(before, time.Unix(0, 0))
	require.False(t, after.mustStore(time.Unix(0, 0)), "the database has them")
	require.Equal(t, before, after.times())
}
