package realtime

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// A message reaches each session of a player, on any replica, and waits for those who are away.
func TestPlayersSendEachOtherMessages(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	here.key("p1", "k1")
	ada, bo := here.client(as("ada"), withCodec("msgpack")), there.client(as("bo"))
	send := func(to, text string) realtimetest.Response {
		return ada.Ask(t, "player.message", "",
			map[string]any{"player": to, "type": "say", "data": map[string]any{"text": text}})
	}
	require.Equal(t, float64(1), send("bo", "one")["reached"])
	bo.Wait(t, "the message", func(v *realtimetest.View) bool { return v.Count("player.message", "") == 1 })
	got := last(bo, "player.message").P
	require.Equal(t, [5]any{"say", map[string]any{"text": "one"}, ada.SessionID(), "ada", float64(1)},
		[5]any{got["type"], got["data"], got["from"], got["from_player"], got["number"]})
	bo.Must(t, "player.read", "", map[string]any{"number": float64(1)})

	require.Equal(t, float64(0), send("cy", "hello")["reached"], "nobody with this name is connected")
	require.True(t, send("bo", "two").OK())
	second := here.client(as("bo"))
	second.Wait(t, "what bo has not read",
		func(v *realtimetest.View) bool { return v.Count("player.message", "") == 1 })
	require.Equal(t, float64(2), last(second, "player.message").P["number"])
	require.Len(t, second.Must(t, "player.history", "", nil)["messages"], 2)
	cy := there.client(as("cy"))
	cy.Wait(t, "what was sent before", func(v *realtimetest.View) bool { return v.Count("player.message", "") == 1 })

	cy.Must(t, "player.block", "", map[string]any{"player": "ada"})
	require.Equal(t, float64(0), send("cy", "again")["reached"])
	require.Len(t, cy.Must(t, "player.history", "", nil)["messages"], 1, "a blocked player's is not kept")
	for _, p := range []map[string]any{{"type": "say"}, {"player": "bo"}, {"player": "b\x00", "type": "say"},
		{"player": "bo", "type": "\x00"}, {"player": float64(7), "type": "say"}} {
		require.Equal(t, "invalid", ada.Ask(t, "player.message", "", p).Code(), p)
	}
	require.Equal(t, "invalid", ada.Ask(t, "player.read", "", nil).Code())
}

// Friends see who is connected and in which room, but not those that are private, and not who has blocked them.
func TestFriendsSeeEachOther(t *testing.T) {
	t.Parallel()
	here, there := pair(t, func(o *Options) { o.timing.presenceEvery = 20e6 })
	here.key("p1", "k1")
	ada := here.client(as("ada"), withCodec("msgpack"))
	friends := map[string]any{"players": []any{"cy", "bo", "bo"}}
	nobody := func(player string) map[string]any {
		return map[string]any{"player": player, "online": false, "rooms": []any{}}
	}
	require.Equal(t, []any{nobody("bo"), nobody("cy")}, ada.Must(t, "presence.watch", "", friends)["players"])
	sees := func(want map[string]any) {
		t.Helper()
		ada.Wait(t, "the presence", func(v *realtimetest.View) bool {
			for _, e := range v.Events() {
				players, _ := e.P["players"].([]any)
				if e.Type == "presence.changed" && len(players) == 1 && reflect.DeepEqual(players[0], want) {
					return true
				}
			}
			return false
		})
	}
	bo := there.client(as("bo"))
	sees(map[string]any{"player": "bo", "online": true, "rooms": []any{}})
	bo.Join(t, "party", "party:secret", nil)
	bo.Join(t, "lobby", "lobby:1", nil)
	sees(map[string]any{"player": "bo", "online": true,
		"rooms": []any{map[string]any{"id": "lobby:1", "room_type": "lobby"}}})
	bo.Must(t, "player.block", "", map[string]any{"player": "ada"})
	sees(nobody("bo"))
	for _, p := range []any{nil, "bo", []any{float64(1)}, []any{""}, []any{"b\x00"}, make([]any, 101)} {
		require.Equal(t, "invalid", ada.Ask(t, "presence.watch", "", map[string]any{"players": p}).Code(), p)
	}
	ada.Must(t, "presence.watch", "", map[string]any{"players": []any{}})
	here.presences.mu.Lock()
	defer here.presences.mu.Unlock()
	require.Empty(t, here.presences.byProject)
	require.Empty(t, here.presences.friendsByConn)
}
