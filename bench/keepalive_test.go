package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/background"
)

// Pins game servers whose leases expire in a long run, and heartbeats of deregistered ones.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, nil)
	w := worldOf(t, options(d, Find(Scenarios, "matchmake")))
	require.NoError(t, w.registerFleet(t.Context()))
	old := time.Now().Add(-maxHeartbeatAge - time.Second).UnixNano()
	w.fleet[0].lastHeartbeat.Store(old)
	w.fleet[1].lastHeartbeat.Store(0)

	stop := background.Run(t, w.keepAlive)
	require.Eventually(t, func() bool { return w.fleet[0].lastHeartbeat.Load() > old }, 10*time.Second,
		time.Millisecond)
	stop()
	require.Equal(t, 1, d.calls["/fleet/heartbeat"])
}
