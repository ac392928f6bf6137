package edgegap

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins turns that callers gave back at the same moment and that were lost: who called next waited for nobody.
func TestTurnsThatAreGivenBackAreFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClass(16)
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			var calls sync.WaitGroup
			for range 16 {
				calls.Go(func() {
					for range 500 {
						_ = c.awaitTurn(ctx, "get")
					}
				})
			}
			calls.Wait()
			require.InDelta(t, 0, c.limiter.Tokens(), 0.01, "the burst was used, and nothing else")
			cancel()
			<-time.After(time.Second) // in synctest's own time: the burst is there again
		}
	})
}

// Pins an answer that names a shorter pause than one before it: its caller came back in the middle of the longer one.
func TestALongerPauseStays(t *testing.T) {
	t.Parallel()
	c := newClass(16)
	require.Equal(t, 20*time.Second, c.beginPause(20*time.Second))
	require.InDelta(t, 20, c.beginPause(time.Second).Seconds(), 1)
	require.Equal(t, maxPause, c.beginPause(time.Hour))
}
