package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
)

// room makes a lobby of players, who may have names that are hostile.
func (b *bundle) room(id string, players ...string) {
	b.t.Helper()
	b.Exec(`INSERT INTO projects (id, name, region) VALUES ('p1', 'arena', 'eu')`)
	types := must.Get(lobby.NewTypes(false, nil))(b.t)
	for i, player := range players {
		session := fmt.Sprintf("s-%016d", i)
		b.AddClient("p1", session, player)
		b.ActInRoom("p1", id, session, types.JoinRoom(lobby.Join{RoomType: "lobby", Session: session, Player: player}))
	}
}

// Pins an operator who sees that a player disturbs a room and can do nothing, or whose deed names nobody. Ids that
// strangers chose may have any characters.
func TestARoomIsModeratedInTheConsole(t *testing.T) {
	t.Parallel()
	types, err := lobby.NewTypes(false, nil)
	require.NoError(t, err)
	b := setupOn(t, storetest.New(t, func(c *db.Config) { c.RoomTypes = types }))
	const id, troublemaker = "lobby:a/b?c=d&e#f", "bo & <i>co</i>/.."
	b.room(id, "ada", troublemaker)
	room := "?" + url.Values{"project": {"p1"}, "room": {id}}.Encode()
	player := room + "&" + url.Values{"player": {troublemaker}}.Encode()
	w := b.as(adaToken)
	w.contains("/lobbies", "/lobby?project=p1&amp;room=lobby%3aa%2fb")
	page := w.contains("/lobby"+room, "ada", "bo &amp; &lt;i&gt;co", "/lobby/kick?", "End the room")
	require.NotContains(t, page, "<i>co")
	require.NotContains(t, b.as(ivyToken).get("/lobby"+room).Body, "/lobby/kick?", "a viewer only looks")
	require.Equal(t, http.StatusNotFound, w.get("/lobby?project=p1&room=none").Status)
	require.Equal(t, http.StatusNotFound, w.get("/lobby/ban?project=p1&room=none&player=bo").Status)

	w.contains("/lobby/mute"+player, "Mute in the room: bo &amp; &lt;i&gt;co&lt;/i&gt;/..?", "2 members")
	require.Equal(t, http.StatusUnprocessableEntity, w.act("/lobby/mute"+player, "minutes", "soon").Status)
	require.Empty(t, b.actors("lobby.player_muted"))
	require.Equal(t, http.StatusSeeOther, w.act("/lobby/mute"+player, "minutes", "10", "reason", "spam").Status)
	w.contains("/lobby"+room, "is muted in the room.", "<h2>Muted</h2>", "spam", "/lobby/pardon?")
	require.Equal(t, http.StatusSeeOther, w.act("/lobby/pardon"+player).Status)
	require.NotContains(t, w.get("/lobby"+room).Body, "<h2>Muted</h2>")
	require.Equal(t, http.StatusUnprocessableEntity, w.act("/lobby/message"+room).Status)
	long := w.act("/lobby/message"+room, "text", strings.Repeat("ä", maxFieldLength+1))
	require.Equal(t, http.StatusUnprocessableEntity, long.Status)
	require.Contains(t, long.Body, "Message: at most 200 characters.")
	require.Empty(t, b.actors("lobby.messaged"))
	require.Equal(t, http.StatusSeeOther, w.act("/lobby/message"+room, "text", strings.Repeat("ä", maxFieldLength)).Status)
	require.Equal(t, http.StatusSeeOther, w.act("/lobby/ban"+player, "reason", "insults").Status)
	w.contains("/lobby"+room, "<h2>Banned</h2>", "insults", "the room ends", "1 of 16")
	w.act("/lobby/kick" + player)
	w.contains("/lobby"+room, "is not in the room: nothing changed")
	done := w.act("/lobby/close"+room, "reason", "over")
	require.Equal(t, "/lobbies", done.Header.Get("Location"), done.Body)
	for _, kind := range []string{"player_muted", "player_pardoned", "messaged", "player_banned", "closed"} {
		require.Equal(t, []string{"console:ada"}, b.actors("lobby."+kind), kind)
	}
	require.Empty(t, b.actors("lobby.player_kicked"))
	require.Equal(t, "spam", storetest.Values[string](b.DB,
		"SELECT detail ->> 'reason' FROM ops.events WHERE kind = 'lobby.player_muted'")[0])
}
