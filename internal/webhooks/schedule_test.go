package webhooks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Pauses grow up to a bound, jitter changes them by a quarter at most, and no number of failures overflows.
func TestPausesGrowToABound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1_000_000).Draw(t, "failures")
		jitter := rapid.Float64Range(0, 0.999).Draw(t, "jitter")
		for _, s := range []struct {
			pause          func(int, float64) time.Duration
			first, longest time.Duration
		}{{letterPause, letterFirst, letterLongest}, {roundPause, roundFirst, roundLongest}} {
			require.GreaterOrEqual(t, s.pause(n, jitter), s.first*3/4)
			require.LessOrEqual(t, s.pause(n, jitter), s.longest*5/4)
			require.GreaterOrEqual(t, s.pause(n+1, jitter), s.pause(n, jitter))
			require.LessOrEqual(t, s.pause(n+1, jitter), 4*s.pause(n, jitter)+time.Microsecond)
		}
	})
}

// A letter is tried for days, often at first and not too often later.
func TestALetterIsTriedForDays(t *testing.T) {
	t.Parallel()
	for _, jitter := range []float64{0, 0.5, 0.999} {
		var tried time.Duration
		attempts := 1
		for tried < GiveUpAfter {
			tried += letterPause(attempts, jitter)
			attempts++
		}
		require.Greater(t, tried, 2*24*time.Hour)
		require.Less(t, tried, 4*24*time.Hour)
		require.Greater(t, attempts, 12)
		require.Less(t, attempts, 30)
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Minute, atLeast(time.Second, time.Minute))
	require.Equal(t, time.Minute, atLeast(time.Minute, time.Second))
	require.Equal(t, time.Hour, atLeast(time.Second, 100*24*time.Hour))
}
