package faults

import (
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
	c := r.NewCrowd(first.lobby)
	for range 3 {
		c.Add(first.lobby, room)
	}
	c.Await(5, c.Guests...)
	c.End()
	c.RequireConverged(room, c.Clients(room)...)
	before := c.Counted(room)
	first.Kill()
	r.useCluster(r.restored())
	r.Run("migrate", "up")
	second := r.replica("--work")
	for _, g := range c.Guests {
		require.NoError(t, g.Reconnect(t.Context(), second.lobby))
		require.True(t, g.Resumed())
		answer, err := g.Increment()
		require.NoError(t, err)
		require.True(t, answer.OK(), "%v", answer)
		g.Acked.Add(1)
	}
	c.RequireConverged(room, c.Clients(room)...)
	require.Equal(t, before+len(c.Guests), c.Counted(room))
	r.RequireInvariants()
}
