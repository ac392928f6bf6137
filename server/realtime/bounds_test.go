package realtime

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// Pins a rate that was the connection's: who connected again could send as much as it liked.
func TestTheRateOutlivesConnections(t *testing.T) {
	t.Parallel()
	v := serve(t)
	v.key("p1", "k1")
	allowed := 0
	c := v.client(as("ada"))
	for range 8 {
		for range 400 {
			if c.Ask(t, "room.list", "", map[string]any{"limit": 1.0}).OK() {
				allowed++
			}
		}
		c.Drop()
		c = v.client(as("ada"))
	}
	require.Less(t, allowed, 3000, "of 3200, in a time in which the rate allows few beyond the burst")
	other := v.client(as("bo"))
	require.True(t, other.Ask(t, "room.list", "", nil).OK())
}

func TestRatesAreForgotten(t *testing.T) {
	t.Parallel()
	p, name := newPlayerRates(), playerKey{"p", "ada"}
	first, second := p.enter(name), p.enter(name)
	require.Same(t, first, second)
	p.leave(name)
	p.leave(name)
	p.forget(name)
	require.Len(t, p.byPlayer, 1, "it may come back")
	first.leftAt = first.leftAt.Add(-ratesKept)
	require.Same(t, first, p.enter(name))
	p.forget(name)
	require.Len(t, p.byPlayer, 1)
	p.leave(name)
	first.leftAt = first.leftAt.Add(-ratesKept)
	p.forget(name)
	require.Empty(t, p.byPlayer)
}

func TestThePlayersSessionsAreBounded(t *testing.T) {
	t.Parallel()
	v := serve(t)
	v.key("p1", "k1")
	kept := v.client(as("ada"))
	for range 31 {
		v.client(as("ada"))
	}
	o := realtimetest.Options{URL: v.address(), Project: "p1"}
	as("ada")(&o)
	_, err := realtimetest.Connect(t.Context(), o)
	refused := &realtimetest.RefusedError{}
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "too_many_sessions", refused.Code)
	require.Equal(t, websocket.StatusTryAgainLater, refused.Status)
	kept.Drop()
	require.NoError(t, kept.Reconnect(t.Context(), v.address()))
	v.client(as("bo"))
}

// Pins a session in so many rooms that it reconnected for ever: its outbox was full when it was attached.
func TestASessionInAllItsRoomsIsResumed(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c := v.client()
	for i := range 64 {
		c.Join(t, "chat", fmt.Sprint("chat:", i), nil)
	}
	require.Equal(t, "too_many_rooms", c.Ask(t, "room.join_or_create", "chat:64",
		map[string]any{"roomType": "chat"}).Code())
	c.Join(t, "chat", "chat:7", nil)
	c.Leave(t, "chat:7")
	c.Join(t, "chat", "chat:64", nil)
	c.Drop()
	require.NoError(t, c.Reconnect(t.Context(), v.address()))
	c.Wait(t, "all rooms", func(r *realtimetest.View) bool { return r.Count("room.reconnected", "") == 64 })
	require.True(t, c.Ask(t, "room.list", "", nil).OK())
}

// The members of large rooms, and large states, are more than an outbox holds.
func TestGreetingsWaitForTheOutbox(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c := v.client()
	for i := range 64 {
		c.Join(t, "counter_room", fmt.Sprint("counter_room:", i), nil)
	}
	c.Drop()
	v.database.Exec(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, suspended_at, expires_at)
		SELECT 'global', 's-' || lpad(n::text, 16, '0'), 'p1', 'p' || n, false, '1 hour', now(), now() + interval '1 hour' FROM generate_series(1, 1900) n`)
	v.database.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, join_order, away)
		SELECT 'global', l.uid, 's-' || lpad(n::text, 16, '0'), 'p' || n, 'joined', n + 1, true FROM lobbies l, generate_series(1, 1900) n`)
	v.database.Exec("UPDATE lobbies SET members = 1901, joins = 1901")
	require.NoError(t, c.Reconnect(t.Context(), v.address()))
	c.Wait(t, "all rooms", func(r *realtimetest.View) bool {
		return r.Count("room.reconnected", "") == 64 && len(r.Room("counter_room:63").Members) == 1901
	})
	require.True(t, c.Ask(t, "room.list", "", nil).OK())
}

// Pins messages that were lost while a member reconnected, although the log had them.
func TestMessagesAreRepeatedToAMemberThatIsBack(t *testing.T) {
	t.Parallel()
	a := serve(t)
	b := serveOn(t, a.database.URL)
	ada, bo := a.client(), b.client()
	for _, c := range []*realtimetest.Client{ada, bo} {
		c.Join(t, "chat", "chat:1", nil)
	}
	say := func(c *realtimetest.Client, n int) {
		c.Must(t, "room.message", "chat:1", map[string]any{"type": "say", "data": float64(n)})
	}
	say(ada, 1)
	bo.Wait(t, "the first", func(v *realtimetest.View) bool { return v.Count("room.message", "chat:1") == 1 })
	bo.Drop()
	ada.Wait(t, "the drop", func(v *realtimetest.View) bool { return v.Count("room.dropped", "chat:1") == 1 })
	for n := 2; n <= 5; n++ {
		say(ada, n)
	}
	require.NoError(t, bo.Reconnect(t.Context(), a.address()))
	say(ada, 6)
	bo.Wait(t, "the last", func(v *realtimetest.View) bool { return v.Count("room.message", "chat:1") == 6 })
	ids := map[any]bool{}
	for i, e := range bo.EventsOf("room.message", "chat:1") {
		require.Equal(t, float64(i+1), e.P["data"])
		repeated, marked := e.P["repeated"]
		require.Equal(t, i >= 1 && i <= 4, marked)
		require.Equal(t, marked, repeated == true)
		ids[e.P["id"]] = true
	}
	require.Len(t, ids, 6)
	for i, e := range ada.EventsOf("room.message", "chat:1") {
		require.Equal(t, bo.EventsOf("room.message", "chat:1")[i].P["id"], e.P["id"],
			"all members know a message by the same id")
	}
}

// A connection that nobody knows to be dead was written to: what it may have lost comes again, and has the same id.
func TestMessagesAreRepeatedAfterATakeover(t *testing.T) {
	t.Parallel()
	a := serve(t)
	b := serveOn(t, a.database.URL)
	ada, bo := a.client(), b.client()
	for _, c := range []*realtimetest.Client{ada, bo} {
		c.Join(t, "chat", "chat:1", nil)
	}
	ada.Must(t, "room.message", "chat:1", map[string]any{"type": "say", "data": 1.0})
	bo.Wait(t, "the message", func(v *realtimetest.View) bool { return v.Count("room.message", "chat:1") == 1 })
	require.NoError(t, bo.Reconnect(t.Context(), a.address()))
	bo.Wait(t, "it again", func(v *realtimetest.View) bool { return v.Count("room.message", "chat:1") == 2 })
	all := bo.EventsOf("room.message", "chat:1")
	require.Equal(t, all[0].P["id"], all[1].P["id"])
	require.Equal(t, true, all[1].P["repeated"])
}

// What is repeated of a room has a bound, so that it cannot fill the outbox: the last messages count.
func TestTheLastMessagesAreRepeated(t *testing.T) {
	t.Parallel()
	a := serve(t)
	ada, bo := a.client(), a.client()
	for _, c := range []*realtimetest.Client{ada, bo} {
		c.Join(t, "chat", "chat:1", nil)
	}
	bo.Drop()
	ada.Wait(t, "the drop", func(v *realtimetest.View) bool { return v.Count("room.dropped", "chat:1") == 1 })
	long, err := json.Marshal(make([]int, 16<<10))
	require.NoError(t, err)
	for range 10 {
		_, err := a.store.ActInLobby(t.Context(),
			db.LobbyAction{Region: "global", ProjectID: "p1", RoomID: "chat:1",
				Act: a.options.RoomTypes.HandleMessage(lobby.Message{Session: ada.SessionID(), Type: "x", Data: long})})
		require.NoError(t, err)
	}
	require.NoError(t, bo.Reconnect(t.Context(), a.address()))
	bo.Wait(t, "the last ones", func(v *realtimetest.View) bool { return v.Count("room.message", "chat:1") == 3 })
	require.True(t, bo.Ask(t, "room.list", "", nil).OK())
}
