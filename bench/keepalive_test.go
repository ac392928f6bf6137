package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins game servers that die in a long run, and ones that are kept from dying after they have deregistered.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	d := startTiny(t, nil)
	r := readied(t, options(d, matchmake))
	require.NoError(t, r.fleet.register(t.Context(), 2))
	old := time.Now().Add(-overdue - time.Second).UnixNano()
	r.fleet.all[0].beaten.Store(old)
	r.fleet.all[1].beaten.Store(0)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.fleet.keepAlive(ctx); close(ended) }()
	require.Eventually(t, func() bool { return r.fleet.all[0].beaten.Load() > old }, 10*time.Second, time.Millisecond)
	cancel()
	<-ended
	require.Equal(t, 1, d.calls["/fleet/heartbeat"])
}
