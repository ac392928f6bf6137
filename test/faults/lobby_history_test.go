package faults

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Sessions and rooms continue on a server that was restored from a dump.
func TestALobbyInARestoredDump(t *testing.T) {
	t.Parallel()
	r := newLobbyRig(t, "DIRECTOR_REALTIME_SESSION_TTL=60s")
	first := r.replica("--work")
	const room = counterRoom + ":default"
	c := r.newCrowd(first.lobby)
	for range 3 {
		c.add(first, room)
	}
	c.await(5, c.guests...)
	c.end()
	c.requireConverged(room, c.clients(room)...)
	before := c.counted(room)
	first.Kill()
	r.useCluster(r.restored())
	r.run("migrate", "up")
	second := r.replica("--work")
	for _, g := range c.guests {
		require.NoError(t, g.Reconnect(t.Context(), second.lobby))
		require.True(t, g.Resumed())
		answer, err := g.increment()
		require.NoError(t, err)
		require.True(t, answer.OK(), "%v", answer)
		g.acked.Add(1)
	}
	c.requireConverged(room, c.clients(room)...)
	require.Equal(t, before+len(c.guests), c.counted(room))
	r.requireInvariants()
}
