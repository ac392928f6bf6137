package notify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins notices that arrived seconds after the pool had its connections again.
func TestPausesBetweenAttemptsAreShort(t *testing.T) {
	t.Parallel()
	retry := newRetry()
	for range 1000 {
		pause := retry.NextBackOff()
		require.Positive(t, pause)
		require.LessOrEqual(t, pause, time.Second)
	}
}
