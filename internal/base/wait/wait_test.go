package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/wait"
)

func TestForEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.True(t, wait.For(t.Context(), time.Hour))
		require.Equal(t, time.Hour, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.False(t, wait.For(ctx, time.Hour))
		require.Equal(t, time.Hour+time.Minute, time.Since(began))
	})
}

func TestWakeNeverBlocks(t *testing.T) {
	t.Parallel()
	channel := make(chan struct{}, 1)
	wait.Wake(channel)
	wait.Wake(channel)
	<-channel
	require.Empty(t, channel)
}
