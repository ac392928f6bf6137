package realtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestABurstPassesAndTheRateHolds(t *testing.T) {
	t.Parallel()
	var r rates
	now := time.Now()
	for range framesBurst {
		require.Equal(t, frameAllowed, r.judgeFrame(now, false))
	}
	require.Equal(t, frameRefused, r.judgeFrame(now, false))
	require.Equal(t, frameAllowed, r.judgeFrame(now, true), "acks are counted apart")
	now = now.Add(time.Second)
	for range framesPerSecond {
		require.Equal(t, frameAllowed, r.judgeFrame(now, false))
	}
	require.Equal(t, frameRefused, r.judgeFrame(now, false))
}

func TestTenTimesTheRateForTenSecondsIsFatal(t *testing.T) {
	t.Parallel()
	var r rates
	begin := time.Now()
	for at := begin; ; at = at.Add(time.Second / (10 * framesPerSecond)) {
		if r.judgeFrame(at, false) == frameFatal {
			require.InDelta(t, (maxRefusedFor + time.Second).Seconds(), at.Sub(begin).Seconds(), 1.5)
			return
		}
		require.Less(t, at.Sub(begin), time.Minute)
	}
}

func TestAFloodIsFatalAtOnce(t *testing.T) {
	t.Parallel()
	for _, ack := range []bool{false, true} {
		var r rates
		now, n := time.Now(), 0
		for r.judgeFrame(now, ack) != frameFatal {
			n++
			require.Less(t, n, 100_000)
		}
	}
}

// A client that is refused now and then, but pauses, is not closed.
func TestRefusalsAreForgotten(t *testing.T) {
	t.Parallel()
	var r rates
	now := time.Now()
	for range 100 {
		for range framesBurst + 10 {
			require.NotEqual(t, frameFatal, r.judgeFrame(now, false))
		}
		now = now.Add(refusedPause + time.Second)
	}
}
