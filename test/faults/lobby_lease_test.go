package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/test/rigtest"
)

const closeSuperseded = websocket.StatusCode(4409)

// A replica is killed with its connections. The clients that reconnect to other replicas resume their sessions; members
// that stay see one sequence, and each session that comes back once. Sessions that stay away are dropped after a lease
// and leave after their TTL.
func TestSessionsSurviveTheirReplica(t *testing.T) {
	t.Parallel()
	r := newLobbyRig(t, "DIRECTOR_REALTIME_SESSION_TTL=20s")
	stays, dies, other := r.ServeLobby("--work"), r.ServeLobby(), r.ServeLobby()
	const rooms, movers = 4, 6
	c := r.NewCrowd(stays.Lobby, other.Lobby)
	watchers, absent := map[string]*realtimetest.Client{}, map[string]*realtimetest.Client{}
	for n := range rooms {
		room := fmt.Sprintf("%s:%d", rigtest.CounterRoom, n)
		watchers[room], absent[room] = stays.Connect(t, fmt.Sprint("watcher-", n)), dies.Connect(t, fmt.Sprint("absent-", n))
		watchers[room].Join(t, rigtest.CounterRoom, room, nil)
		absent[room].Join(t, rigtest.CounterRoom, room, nil)
		for range movers {
			c.AddGuest(dies.Lobby, room)
		}
	}
	c.AwaitCount(5, c.Guests...)
	dies.Process.Process.Kill()
	c.AwaitCount(5, c.Guests...)

	for room, watcher := range watchers { // the guests still count
		gone := absent[room].SessionID()
		require.Eventually(t, func() bool { return countPresence(watcher, "room.left", room, gone) == 1 }, 60*time.Second,
			50*time.Millisecond, "%s leaves", gone)
		require.Equal(t, 1, countPresence(watcher, "room.dropped", room, gone))
	}
	c.EndAll()
	for room, watcher := range watchers {
		c.RequireConverged(room, append(c.ListMembers(room), watcher)...)
		values := counterValues(watcher, room)
		require.Len(t, values, c.CountIn(room))
		requireOnce(t, values, 0, "the watcher")
		require.Equal(t, 1, values[0])
	}
	for _, g := range c.Guests {
		require.Equal(t, 1, g.Client.Status().Resumed)
		requireOnce(t, counterValues(g, g.Room), 0, g.Sub)
		require.Equal(t, 1, countPresence(watchers[g.Room], "room.reconnected", g.Room, g.SessionID()))
		require.Zero(t, countPresence(watchers[g.Room], "room.left", g.Room, g.SessionID()))
		require.LessOrEqual(t, countPresence(watchers[g.Room], "room.dropped", g.Room, g.SessionID()), 1,
			"only on a slow machine")
		require.Zero(t, g.Client.Status().Resyncs)
	}
	r.RequireInvariants()
}

// A replica freezes in the middle of a transaction, for longer than its lease. Clients on other replicas wait for the
// end of its transaction only. When it continues, nothing that it still does for its sessions has an effect, and it
// closes their connections.
func TestAFrozenReplicaOfTheLobby(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestSessionsSurviveTheirReplica")
	r := newLobbyRig(t, "DIRECTOR_REALTIME_SESSION_TTL=60s")
	stays := r.ServeLobby("--work")
	frozen := r.ServeLobby("--database-url", withName(t, r.Cluster.URL("postgres"), "frozen"))
	const room = rigtest.CounterRoom + ":default"
	c := r.NewCrowd(stays.Lobby)
	near := c.AddGuest(stays.Lobby, room)
	var moving []*rigtest.Guest
	for range 8 {
		moving = append(moving, c.AddGuest(frozen.Lobby, room))
	}
	waits := frozen.Connect(t, "waits")
	waits.Join(t, rigtest.CounterRoom, room, nil)
	c.AwaitCount(3, c.Guests...)

	s := newSite(t, "frozen", frozen.Process)
	at := r.freezeInTransaction(s)
	c.AwaitCount(1, near)
	require.Less(t, time.Since(at), 10*time.Second, "Postgres ends the transaction of the frozen replica")
	for _, g := range moving {
		g.Client.Reconnect() // which takes the session over
	}
	c.AwaitCount(3, c.Guests...)
	require.Eventually(t, func() bool { return countPresence(near, "room.dropped", room, waits.SessionID()) == 1 },
		60*time.Second, 50*time.Millisecond)
	c.EndAll()
	before := c.CountIn(room)
	waits.Tell(t, room, "inc", map[string]any{}) // into the buffer of a connection whose replica is frozen
	s.resume()

	waits.Wait(t, "the close", func(v *realtimetest.View) bool { return v.Closed() != 0 })
	require.Contains(t, []websocket.StatusCode{closeSuperseded, websocket.StatusServiceRestart}, waits.CloseStatus())
	require.Eventually(t, func() bool { return waits.Reconnect(t.Context(), frozen.Lobby) == nil }, 30*time.Second,
		50*time.Millisecond,
		"the replica has another lease soon")
	require.True(t, waits.Resumed())
	require.Equal(t, before, c.CountIn(room), "a frame that the frozen replica read too late has no effect")
	require.True(t, waits.Ask(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}}).OK())
	require.NoError(t, near.Client.Await(t.Context(),
		func() bool {
			return len(counterValues(near, room)) > 0 && slices.Max(counterValues(near, room)) == before+1
		}))
	requireOnce(t, counterValues(near, room), 0, "a member on the other replica")
	for _, g := range moving {
		require.Equal(t, 1, g.Client.Status().Resumed)
		require.LessOrEqual(t, countPresence(near, "room.reconnected", room, g.SessionID()), 1)
	}
	require.Equal(t, 2, one[int](r, "SELECT count(*)::int FROM replicas WHERE face = 'realtime' AND ended_at IS NULL"), "each process has one lease")
	r.RequireInvariants()
}
