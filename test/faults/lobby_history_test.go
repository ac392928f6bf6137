package faults

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/rigtest"
)

// Sessions and rooms continue on a server that was restored from a dump.
func TestALobbyInARestoredDump(t *testing.T) {
	t.Parallel()
	r := newLobbyRig(t, "DIRECTOR_REALTIME_SESSION_TTL=60s")
	first := r.replica("--work")
	const room = rigtest.CounterRoom + ":default"
	c := r.NewCrowd(first.Lobby)
	for range 3 {
		c.Add(first.Lobby, room)
	}
	c.Await(5, c.Guests...)
	c.End()
	c.RequireConverged(room, c.Clients(room)...)
	before := c.Counted(room)
	first.Kill()
	r.useCluster(r.restored())
	r.Run("migrate", "up")
	r.replica("--work", "--realtime-addr", strings.TrimPrefix(first.Lobby, "ws://")) // where the guests look for it
	for _, g := range c.Guests {
		require.NoError(t, g.Increment()) // it waits for the connection
		require.Equal(t, 1, g.Status().Resumed)
		g.Acked.Add(1)
	}
	c.RequireConverged(room, c.Clients(room)...)
	require.Equal(t, before+len(c.Guests), c.Counted(room))
	r.RequireInvariants()
}
