package faults

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/test/rigtest"
)

// Sessions and rooms continue on a server that was restored from a dump.
func TestALobbyInARestoredDump(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestRestoredDump")
	r := newLobbyRig(t, "DIRECTOR_REALTIME_SESSION_TTL=60s")
	first := r.ServeLobby("--work")
	const room = rigtest.CounterRoom + ":default"
	c := r.NewCrowd(first.Lobby)
	for range 3 {
		c.AddGuest(first.Lobby, room)
	}
	c.AwaitCount(5, c.Guests...)
	c.EndAll()
	c.RequireConverged(room, c.ListMembers(room)...)
	before := c.CountIn(room)
	first.Process.Process.Kill()
	r.useCluster(r.restoreDump())
	r.RunCommand("migrate", "up")
	r.ServeLobby("--work", "--realtime-addr", strings.TrimPrefix(first.Lobby, "ws://")) // where the guests look for it
	for _, g := range c.Guests {
		require.NoError(t, g.IncrementOnce()) // waits until the guest is connected again
		require.Equal(t, 1, g.Client.Status().Resumed)
		g.AckedCount.Add(1)
	}
	c.RequireConverged(room, c.ListMembers(room)...)
	require.Equal(t, before+len(c.Guests), c.CountIn(room))
	r.RequireInvariants()
}
