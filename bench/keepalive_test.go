package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins game servers whose leases expire in a long run, and heartbeats of deregistered ones.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, nil)
	r := preparedRun(t, options(d, matchmake))
	require.NoError(t, r.fleet.register(t.Context(), 2))
	old := time.Now().Add(-maxHeartbeatAge - time.Second).UnixNano()
	r.fleet.all[0].lastHeartbeat.Store(old)
	r.fleet.all[1].lastHeartbeat.Store(0)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.fleet.keepAlive(ctx); close(ended) }()
	require.Eventually(t, func() bool { return r.fleet.all[0].lastHeartbeat.Load() > old }, 10*time.Second, time.Millisecond)
	cancel()
	<-ended
	require.Equal(t, 1, d.calls["/fleet/heartbeat"])
}
