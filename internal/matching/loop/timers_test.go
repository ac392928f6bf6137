package loop

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins a loop that spins while a step leaves something undone, and one that is late for what is due soon because of it.
func TestWhatAStepLeavesUndoneWaitsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		timers := newTimers(compareEvery)
		defer timers.stopTimer()
		slept := func(decision, stepAt time.Time) time.Duration {
			began := time.Now()
			timers.setTimer(decision, stepAt)
			<-timers.timer.C
			return time.Since(began)
		}
		stepAt := time.Now()
		for p := range compareAt {
			require.True(t, timers.beginIfDue(p))
		}
		timers.dueAt[compareAt] = stepAt
		require.Equal(t, leftoverPause, slept(time.Time{}, stepAt), "left undone")
		require.Equal(t, 3*time.Millisecond, slept(time.Now().Add(3*time.Millisecond), stepAt), "due before the leftover is looked at again")
		require.Zero(t, slept(time.Now(), stepAt), "due since the step began")
	})
}
