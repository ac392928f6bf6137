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
	w := worldOf(t, options(d, Find(Scenarios, "matchmake")))
	require.NoError(t, w.fleet.register(t.Context(), 2))
	old := time.Now().Add(-maxHeartbeatAge - time.Second).UnixNano()
	w.fleet.members[0].lastHeartbeat.Store(old)
	w.fleet.members[1].lastHeartbeat.Store(0)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { w.fleet.keepAlive(ctx); close(ended) }()
	require.Eventually(t, func() bool { return w.fleet.members[0].lastHeartbeat.Load() > old }, 10*time.Second,
		time.Millisecond)
	cancel()
	<-ended
	require.Equal(t, 1, d.calls["/fleet/heartbeat"])
}
