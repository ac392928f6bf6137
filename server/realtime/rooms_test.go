package realtime

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

func ofProject(name string) func(*realtimetest.Options) {
	return func(o *realtimetest.Options) { o.Project = name }
}

// listed asks for a page of rooms, and returns their ids and where the next page begins.
func listed(t *testing.T, c *realtimetest.Client, p map[string]any) (ids []string, next any) {
	t.Helper()
	answer := c.Must(t, "room.list", "", p)
	rooms, _ := answer["rooms"].([]any)
	for _, r := range rooms {
		room, _ := r.(map[string]any)
		require.Equal(t, map[string]any{"id": room["id"], "room_type": room["room_type"], "members": float64(1),
			"max_members": room["max_members"],
			"locked":      false}, room)
		ids = append(ids, fmt.Sprint(room["id"]))
	}
	return ids, answer["next"]
}

// Pins a list that shows the rooms of other projects or private ones, or that has no end.
func TestRoomsAreListedInPages(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c, other := v.client(), v.client(ofProject("p2"))
	for _, id := range []string{"b", "c", "a"} {
		c.Join(t, "chat", "chat:"+id, nil)
	}
	c.Join(t, "lobby", "lobby:a", nil)
	c.Join(t, "party", "party:secret", nil)
	other.Join(t, "chat", "chat:elsewhere", nil)

	ids, next := listed(t, c, nil)
	require.Equal(t, []string{"chat:a", "chat:b", "chat:c", "lobby:a"}, ids)
	require.Nil(t, next)
	ids, next = listed(t, c, map[string]any{"roomType": "chat", "limit": float64(2)})
	require.Equal(t, []string{"chat:a", "chat:b"}, ids)
	ids, _ = listed(t, c, map[string]any{"room_type": "chat", "limit": float64(2), "after": next})
	require.Equal(t, []string{"chat:c"}, ids)
	ids, _ = listed(t, c, map[string]any{"roomType": "echo_room"})
	require.Empty(t, ids)
	ids, _ = listed(t, other, nil)
	require.Equal(t, []string{"chat:elsewhere"}, ids)
}

// A list without a rid is an event with what the answer would have.
func TestAListWithoutARIDIsAnEvent(t *testing.T) {
	t.Parallel()
	v := serve(t)
	v.client().Join(t, "chat", "", nil)
	r := v.shaken()
	r.text(`{"v":1,"t":"room.list"}`)
	require.Equal(t, seen{Type: "room.list", P: map[string]any{
		"ok": true,
		"rooms": []any{map[string]any{"id": "chat:default", "room_type": "chat", "members": float64(1),
			"max_members": float64(200), "locked": false}},
	}}, r.next())
}

// Pins rooms that are shared by projects, as they are in Nexis.
func TestARoomBelongsToItsProject(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c, other := v.client(), v.client(ofProject("p2"))
	c.Join(t, "chat", "chat:one", nil)
	require.Equal(t, "room_not_found", other.Ask(t, "room.message", "chat:one", map[string]any{"type": "x"}).Code())
	other.Join(t, "chat", "chat:one", nil) // makes a room of its own
	c.Must(t, "room.message", "chat:one", map[string]any{"type": "x"})
	other.Must(t, "room.message", "chat:one", map[string]any{"type": "y"})
	other.Wait(t, "its message", func(e *realtimetest.View) bool { return e.Count("room.message", "chat:one") == 1 })
	require.Equal(t, []string{other.SessionID()}, other.Room("chat:one").Members)
	require.Equal(t, "y", other.EventsOf("room.message", "chat:one")[0].Text("type"))
}

// With the conformance switch, positions and echoes reach the members on the same replica, and nobody else.
func TestPositionsReachTheMembersOnTheSameReplica(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	sender, near, far, stranger := a.client(withCodec("msgpack")), a.client(), b.client(), a.client()
	const room = "counter_plugin_room:default"
	for _, c := range []*realtimetest.Client{sender, near, far} {
		c.Join(t, "counter_plugin_room", "", nil)
	}
	require.NoError(t, stranger.Send(t.Context(), "position.update", room, map[string]any{"x": float64(9)}))
	stranger.Must(t, "echo", "", map[string]any{})
	for i, kind := range []string{"position.update", "echo"} {
		require.NoError(t, sender.Send(t.Context(), kind, room, map[string]any{"x": 1.5}))
		for _, c := range []*realtimetest.Client{sender, near} {
			c.Wait(t, kind, func(e *realtimetest.View) bool { return e.Count(kind, room) == 1 })
			require.Equal(t, map[string]any{"x": 1.5}, last(c, kind).P, "that of a stranger is not relayed")
		}
		sender.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
		far.Wait(t, "a later change", func(e *realtimetest.View) bool { return counter(e.Room(room)) == float64(i+1) })
		require.Empty(t, far.EventsOf(kind, ""))
	}
}

// Pins a connection that keeps a session which others have, or whose key is revoked, for as long as its client is
// silent: the notices were lost.
func TestWithoutNotificationsConnectionsHearWhoOwnsThem(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	required := func(o *Options) { o.AuthMode = AuthRequired }
	a := serveStore(t, url, storetest.Open(t, url, mute), required)
	b := serveStore(t, url, storetest.Open(t, url, mute), required)
	signed := func(tok string) func(*realtimetest.Options) {
		return func(o *realtimetest.Options) { o.Token = tok }
	}
	stolen, revoked := a.key("p1", "k1"), a.key("p2", "k2")
	first, second := a.client(signed(stolen)), a.client(signed(revoked))
	thief := b.client(signed(stolen), func(o *realtimetest.Options) { o.Session = first.SessionID() })
	require.True(t, thief.Resumed())
	_, err := b.store.RevokeProjectKey(t.Context(), "p2", "k2", "test")
	require.NoError(t, err)
	first.Wait(t, "the close", func(v *realtimetest.View) bool { return v.Closed() == delivery.CloseSuperseded })
	second.Wait(t, "the close", func(v *realtimetest.View) bool { return v.Closed() == delivery.CloseKey })
	require.Zero(t, thief.CloseStatus())
}

func last(c *realtimetest.Client, kind string) (found realtimetest.Event) {
	if all := c.EventsOf(kind, ""); len(all) > 0 {
		found = all[len(all)-1]
	}
	return found
}
