package agents

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBackoffDoublesFromHalfASecondToHalfAMinute(t *testing.T) {
	t.Parallel()
	for attempt, milliseconds := range map[int]int64{0: 500, 1: 1000, 2: 2000, 5: 16_000, 6: 30_000, 7: 30_000,
		1 << 40: 30_000} {
		require.Equal(t, milliseconds, backoffPause(attempt, 1).Milliseconds())
		require.Equal(t, milliseconds/4, backoffPause(attempt, 0.25).Milliseconds())
		require.Zero(t, backoffPause(attempt, 0))
	}
}
