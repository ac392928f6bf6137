package server_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

// withLobby has a lobby of ada and bo in the project p.
func withLobby(t *testing.T) *bundle {
	t.Helper()
	types := must.Get(lobby.NewTypes(false, nil))(t)
	b := setup(t, func(c *config) { c.db.RoomTypes = types })
	b.store.Exec(`INSERT INTO projects (id, name, region) VALUES ('p', 'p', 'eu')`)
	for _, player := range []string{"ada", "bo"} {
		session := "s-" + player
		b.store.AddClient("p", session, player)
		b.store.ActInRoom("p", "lobby:1", session, types.JoinRoom(lobby.Join{RoomType: "lobby", Session: session, Player: player}))
	}
	return b
}

// Pins a backend whose decision about a player has no effect, or no author.
func TestRoomsAreModeratedOverHTTP(t *testing.T) {
	t.Parallel()
	b := withLobby(t)
	call := func(path string, more fields) answer {
		body := fields{"project": "p", "room": "lobby:1"}
		maps.Copy(body, more)
		return b.ops(http.MethodPost, "lobby/"+path, body)
	}
	room := func() fields {
		return b.ops(http.MethodGet, "lobby/room?project=p&room=lobby:1", nil).ok(http.StatusOK)
	}
	require.Len(t, room()["members"], 2)
	done := fields{"done": true}
	require.Equal(t, done, call("mute", fields{"player": "bo", "seconds": 60, "reason": "spam"}).ok(http.StatusOK))
	require.Equal(t, "bo", room()["muted"].([]any)[0].(map[string]any)["player"])
	require.Equal(t, done, call("kick", fields{"player": "bo"}).ok(http.StatusOK))
	call("kick", fields{"player": "bo"}).problem(http.StatusNotFound, "player_not_in_room")
	require.Equal(t, done, call("ban", fields{"player": "bo"}).ok(http.StatusOK))
	require.Equal(t, []any{map[string]any{"player": "bo"}}, room()["banned"])
	require.Equal(t, done, call("pardon", fields{"player": "bo"}).ok(http.StatusOK))
	require.Empty(t, room()["banned"])
	require.Equal(t, done, call("change",
		fields{"private": true, "max_members": 4, "metadata": fields{"map": "dust"}}).ok(http.StatusOK))
	require.Equal(t, [3]any{true, 4.0, map[string]any{"map": "dust"}},
		[3]any{room()["private"], room()["max_members"], room()["metadata"]})
	call("change", fields{"max_members": 17}).problem(http.StatusConflict, "room_refuses")
	require.Equal(t, []string{"metadata"}, call("change", fields{"metadata": fields{"a": []any{}}}).named())
	require.Equal(t, done, call("message", fields{"type": "news", "data": fields{"text": "soon"}}).ok(http.StatusOK))
	require.Equal(t, fields{"reached": 1.0},
		b.ops(http.MethodPost, "lobby/tell",
			fields{"project": "p", "player": "bo", "type": "news", "data": fields{"a": 1}}).ok(http.StatusOK))
	b.ops(http.MethodPost, "lobby/tell",
		fields{"project": "nothing", "player": "bo", "type": "news"}).problem(http.StatusNotFound, "lobby_unknown")
	require.Equal(t, done, call("close", fields{"reason": "over"}).ok(http.StatusOK))
	call("close", nil).problem(http.StatusNotFound, "lobby_unknown")
	b.ops(http.MethodGet, "lobby/room?project=p&room=lobby:1", nil).problem(http.StatusNotFound, "lobby_unknown")
	require.Equal(t, []string{"project", "room"}, b.ops(http.MethodGet, "lobby/room", nil).named())
	var events int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(),
		`SELECT count(*) FROM events WHERE kind LIKE 'lobby.%' AND actor = 'operator' AND detail ->> 'room' = 'lobby:1'`).Scan(&events))
	require.Equal(t, 7, events)
}

// A server requires no more than the contract, and no less.
func TestInvalidModerations(t *testing.T) {
	t.Parallel()
	b := withLobby(t)
	for path, schema := range map[string]string{"kick": "LobbyPunishment", "ban": "LobbyPunishment",
		"mute": "LobbyPunishment", "pardon": "LobbyPunishment",
		"change": "LobbyChange", "close": "LobbyClosing", "message": "LobbyMessage", "tell": "LobbyPlayerMessage"} {
		s := document(t).Components.Schemas[schema].Value
		for _, c := range contracttest.BrokenCases(s) {
			a := b.ops(http.MethodPost, "lobby/"+path, c.Body)
			require.Equal(t, http.StatusBadRequest, a.status, "%s: %s %s", path, c.Name, a.body)
		}
		a := b.ops(http.MethodPost, "lobby/"+path, contracttest.Smallest(s))
		require.NotEqual(t, http.StatusBadRequest, a.status, "%s: %s", path, a.body)
	}
}
