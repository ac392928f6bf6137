package faults

import (
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

const closeSuperseded = websocket.StatusCode(4409)

// A replica freezes in the middle of a transaction, for longer than its lease. Clients on other replicas wait for the end of its transaction only.
// When it continues, nothing that it still does for its sessions has an effect, and it closes their connections.
func TestAFrozenReplicaOfTheLobby(t *testing.T) {
	t.Parallel()
	r := newLobbyRig(t, "DIRECTOR_REALTIME_SESSION_TTL=60s")
	stays := r.replica("--work")
	frozen := r.replica("--database-url", named(t, r.cluster.URL("postgres"), "frozen"))
	const room = counterRoom + ":default"
	c := r.newCrowd(stays.lobby)
	near := c.add(stays, room)
	var moving []*guest
	for range 8 {
		moving = append(moving, c.add(frozen, room))
	}
	waits := r.connect(frozen, "waits")
	waits.Join(t, counterRoom, room, nil)
	c.await(3, c.guests...)

	s := &site{process: frozen.process, name: "frozen"}
	s.freeze = func() { require.NoError(t, frozen.Signal(syscall.SIGSTOP)) }
	s.resume = func() { require.NoError(t, frozen.Signal(syscall.SIGCONT)) }
	at := r.freezeInTransaction(s)
	c.await(1, near)
	require.Less(t, time.Since(at), 10*time.Second, "Postgres ends the transaction of the frozen replica")
	for _, g := range moving {
		g.Drop() // its reconnect takes the session over
	}
	c.await(3, c.guests...)
	require.Eventually(t, func() bool { return presence(near.Client, "room.dropped", room, waits.Session()) == 1 }, 60*time.Second, 50*time.Millisecond)
	c.end()
	before := c.counted(room)
	waits.Tell(t, room, "inc", map[string]any{}) // into the buffer of a connection whose replica is frozen
	s.resume()

	waits.Wait(t, "the close", func(v *realtimetest.View) bool { return v.Closed() != 0 })
	require.Contains(t, []websocket.StatusCode{closeSuperseded, websocket.StatusServiceRestart}, waits.CloseStatus())
	require.NoError(t, waits.Reconnect(t.Context(), frozen.lobby), "the replica has another lease")
	require.True(t, waits.Resumed())
	require.Equal(t, before, c.counted(room), "a frame that the frozen replica read too late has no effect")
	require.True(t, waits.Ask(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}}).OK())
	near.Wait(t, "the increment", func(v *realtimetest.View) bool { return v.Room(room).State["counter"] == float64(before+1) })
	requireOnce(t, heard(near.Client, room), 0, "a member on the other replica")
	for _, g := range moving {
		require.EqualValues(t, 1, g.resumes.Load())
		require.LessOrEqual(t, presence(near.Client, "room.reconnected", room, g.Session()), 1)
	}
	require.Equal(t, 2, one[int](r.rig, "SELECT count(*)::int FROM replicas WHERE face = 'realtime' AND ended_at IS NULL"), "each process has one lease")
	r.requireInvariants()
}
