package rest_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/server/rest"
)

// For any pattern of calls, a key gets its burst and then its rate, and the returned wait is long enough.
func TestLimiterHoldsTheRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rate := rest.Rate{
			PerSecond: rapid.Float64Range(.1, 1000).Draw(rt, "rate"),
			Burst:     rapid.IntRange(1, 20).Draw(rt, "burst"),
		}
		pauses := rapid.SliceOfN(rapid.IntRange(-1, 20), 1, 30).Draw(rt, "pauses") // in ms; -1 means the returned wait
		var excess float64                                                         // the largest number of calls above the rate that the limiter allowed
		var tooShort bool
		synctest.Test(t, func(*testing.T) {
			l, start, allowed := rest.NewLimiter(rate), time.Now(), 0.0
			var wait time.Duration
			for _, pause := range pauses {
				obeys := pause < 0 && wait > 0
				if !obeys {
					wait = time.Duration(max(0, pause)) * time.Millisecond
				}
				<-time.After(wait)
				if wait = l.Take("key"); wait == 0 {
					allowed++
				}
				tooShort = tooShort || obeys && wait > 0
				excess = max(excess, allowed-float64(rate.Burst)-time.Since(start).Seconds()*rate.PerSecond)
			}
		})
		require.LessOrEqual(rt, excess, .01)
		require.False(rt, tooShort, "after the returned wait a call is allowed")
	})
}

// Concurrent calls share one budget.
func TestLimiterCountsUnderConcurrency(t *testing.T) {
	t.Parallel()
	l := rest.NewLimiter(rest.Rate{PerSecond: 1e-6, Burst: 1000})
	var allowed atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 500 {
				if l.Take("key") == 0 {
					allowed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 1000, allowed.Load())
}

// Memory is bounded, and more keys than are remembered cause no refusals of other keys.
func TestLimiterEvictsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	l := rest.NewLimiter(rest.Rate{PerSecond: 1e-6, Burst: 1})
	require.Zero(t, l.Take("first"))
	require.Positive(t, l.Take("first"))
	for i := range 100_000 {
		require.Zero(t, l.Take("abuser"+strconv.Itoa(i)))
	}
	require.Zero(t, l.Take("player"))
	require.Zero(t, l.Take("first"), "evicted")
	require.Positive(t, l.Take("player"), "remembered")
}

func TestZeroRateSetsNoLimit(t *testing.T) {
	t.Parallel()
	l := rest.NewLimiter(rest.Rate{})
	for range 1000 {
		require.Zero(t, l.Take("key"))
	}
}
