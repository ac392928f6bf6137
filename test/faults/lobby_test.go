package faults

import (
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/test/rigtest"
)

// Postgres crashes, and starts again after the TTL of sessions: the logs of rooms are empty. Connections stay open, a
// session without one can still be resumed, and all members are sent the state.
func TestTheLobbySurvivesACrashOfPostgres(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestSessionsSurviveTheirReplica")
	r := newLobbyRig(t)
	first, second := r.ServeLobby("--work"), r.ServeLobby()
	c := r.NewCrowd(first.Lobby, second.Lobby)
	const room = rigtest.CounterRoom + ":default"
	for _, at := range []*rigtest.LobbyReplica{first, second, first, second} {
		c.AddGuest(at.Lobby, room)
	}
	away := second.Connect(t, "away")
	away.Join(t, rigtest.CounterRoom, room, nil)
	away.Drop()
	watcher := c.Guests[0]
	require.Eventually(t, func() bool { return countPresence(watcher, "room.dropped", room, away.SessionID()) == 1 },
		30*time.Second, 10*time.Millisecond)
	c.AwaitCount(5, c.Guests...)

	require.NoError(t, r.Cluster.StopImmediate())
	for _, at := range []*rigtest.LobbyReplica{first, second} {
		_, err := realtimetest.Connect(t.Context(),
			realtimetest.Options{URL: at.Lobby, Token: rigtest.LobbyToken("late")})
		var refused *realtimetest.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, websocket.StatusTryAgainLater, refused.Status)
	}
	pause(t.Context(), 7*time.Second) // longer than a lease and a session
	require.NoError(t, r.Cluster.Start(t.Context()))

	c.AwaitCount(5, c.Guests...)
	require.NoError(t, away.Reconnect(t.Context(), first.Lobby))
	require.True(t, away.Resumed(), "its TTL stood still")
	c.EndAll()
	c.RequireConverged(room, append(c.ListMembers(room), away)...)
	for _, g := range c.Guests {
		require.Zero(t, g.Client.Status().Resumed, "%s kept its connection", g.Sub)
		require.Positive(t, g.UnknownCount.Load())
		requireOnce(t, counterValues(g, room), 3, g.Sub)
		require.Zero(t, countPresence(watcher, "room.dropped", room, g.SessionID()))
	}
	require.Zero(t, countPresence(watcher, "room.left", room, away.SessionID()))
	r.RequireInvariants()
}

// A replica that stops closes its connections evenly. The clients continue on another one, and no other member sees
// them leave.
func TestADrainMovesClientsEvenly(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestSessionsSurviveTheirReplica")
	r := newLobbyRig(t)
	stays, stops := r.ServeLobby("--work"), r.ServeLobby("--shutdown-timeout", "12s") // closes within half of it
	c := r.NewCrowd(stays.Lobby)
	const room, guests = rigtest.CounterRoom + ":default", 40
	watcher := stays.Connect(t, "watcher")
	watcher.Join(t, rigtest.CounterRoom, room, nil)
	for range guests {
		c.AddGuest(stops.Lobby, room)
	}
	c.AwaitCount(2, c.Guests...)
	require.NoError(t, stops.Process.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		for _, g := range c.Guests {
			if g.Client.Status().Resumed == 0 {
				return false
			}
		}
		return true
	}, 60*time.Second, 20*time.Millisecond)
	c.AwaitCount(2, c.Guests...)
	c.EndAll()
	c.RequireConverged(room, append(c.ListMembers(room), watcher)...)
	var perSecond [64]int // how many connections were closed in each second after the first: the test waits for 60
	first := time.Now()
	for _, g := range c.Guests {
		require.Equal(t, []websocket.StatusCode{websocket.StatusServiceRestart}, g.CloseCodes)
		if g.ClosedAt[0].Before(first) {
			first = g.ClosedAt[0]
		}
	}
	for _, g := range c.Guests {
		require.Zero(t, countPresence(watcher, "room.dropped", room, g.SessionID()))
		require.Equal(t, 1, countPresence(watcher, "room.reconnected", room, g.SessionID()))
		perSecond[int(g.ClosedAt[0].Sub(first)/time.Second)]++
	}
	for _, n := range perSecond {
		require.Less(t, n, guests/2, "closes per second: %v", perSecond)
	}
	requireOnce(t, counterValues(watcher, room), 0, "the watcher")
	r.RequireInvariants()
}

// The replica of two sessions is killed while they wait for a match, which is made before they come back: another
// replica tells them of it.
func TestAMatchIsFoundAfterItsReplicaWasKilled(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestSessionsSurviveTheirReplica")
	r := newLobbyRig(t, "DIRECTOR_LEASE_TTL=60s")
	dies, stays := r.ServeLobby(), r.ServeLobby()
	clients := []*realtimetest.Client{dies.Connect(t, "ann"), dies.Connect(t, "bob")}
	for _, c := range clients {
		require.Equal(t, true, c.Must(t, "matchmaking.enqueue", "",
			map[string]any{"roomType": "duel", "size": 2})["queued"])
	}
	dies.Process.Process.Kill()
	r.StartProcess("work")
	require.Eventually(t, func() bool {
		return one[int](r, "SELECT count(*)::int FROM lobby_members WHERE state = 'invited'") == 2
	}, 60*time.Second, 20*time.Millisecond)
	rooms := map[string]bool{}
	for _, c := range clients {
		require.NoError(t, c.Reconnect(t.Context(), stays.Lobby))
		require.True(t, c.Resumed())
		c.Wait(t, "match.found", func(v *realtimetest.View) bool { return v.Count("match.found", "") == 1 })
		rooms[c.Join(t, "duel", foundMatches(c)[0], nil)] = true
	}
	require.Len(t, rooms, 1)
	require.NoError(t, clients[1].Reconnect(t.Context(), stays.Lobby))
	clients[1].Must(t, "echo", "", map[string]any{})
	for _, c := range clients {
		c.Wait(t, "both members", func(v *realtimetest.View) bool {
			for room := range rooms {
				return len(v.Room(room).Members) == 2
			}
			return false
		})
		require.Len(t, foundMatches(c), 1, "whoever has joined is told no more")
	}
	r.RequireInvariants()
}

// foundMatches returns the rooms of the matches that a client was notified of.
func foundMatches(c *realtimetest.Client) (rooms []string) {
	for _, e := range c.EventsOf("match.found", "") {
		rooms = append(rooms, e.Room)
	}
	return rooms
}
