package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
)

// Pins an operator at a shell who cannot see who is in a room, or whose moderation has no effect, or no author.
func TestRoomsOfTheRealtimeLobby(t *testing.T) {
	t.Parallel()
	types, err := lobby.NewTypes(false, []byte(`{"town": {"logic": "chat"}}`))
	require.NoError(t, err)
	d := storetest.New(t, func(c *db.Config) { c.RoomTypes = types })
	d.Exec(`INSERT INTO projects (id, name, region) VALUES ('arena', 'arena', 'eu')`)
	for i, player := range []string{"ada", "bo", "cy"} {
		session := fmt.Sprintf("s-%016d", i)
		d.Exec(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner) VALUES ('eu', $1, 'arena', $2, true, '30 s', gen_random_uuid())`, session, player)
		_, err := d.Store.ActInLobby(t.Context(),
			db.LobbyAction{Region: "eu", ProjectID: "arena", RoomID: "town:1", MakesRoom: true,
				Session: db.SessionEpoch{ID: session, Epoch: 1},
				Act:     types.JoinRoom(lobby.Join{RoomType: "town", Session: session, Player: player})})
		require.NoError(t, err)
	}
	environ := env("DATABASE_URL="+d.URL, `DIRECTOR_REALTIME_ROOMS={"town": {"logic": "chat"}}`)
	show := func() db.LobbyDetails {
		return clitest.Read[db.LobbyDetails](t, director, environ, "rooms", "show", "arena", "town:1")
	}
	listed := clitest.Read[[]opsview.LobbyRoom](t, director, environ, "rooms", "list", "--project", "arena", "--text",
		"town")
	require.Equal(t, "town:1", listed[0].Room)
	require.Len(t, show().Members, 3)
	require.Contains(t, director.OK(t, environ, "rooms", "show", "arena", "town:1"), "town:1, a town with 3 of ")

	muted := clitest.Read[[]changeLine](t, director, environ, "rooms", "mute", "arena", "town:1", "bo", "--for", "10m",
		"--reason", "spam")
	require.Equal(t, []changeLine{{"bo", true}}, muted)
	require.Equal(t, "spam", show().Muted[0].Reason)
	require.NotNil(t, show().Muted[0].Until)
	director.OK(t, environ, "rooms", "pardon", "arena", "town:1", "bo")
	require.Empty(t, show().Muted)
	partly := director.Run(t, environ, "", "rooms", "kick", "arena", "town:1", "nobody", "cy")
	require.ErrorContains(t, partly.Err, "nobody: ")
	require.ErrorContains(t, partly.Err, "neither in the room nor invited")
	require.Len(t, show().Members, 2, "the others are kicked")
	director.OK(t, environ, "rooms", "ban", "arena", "town:1", "bo")
	require.Nil(t, show().Banned[0].Until, "while the room lives")
	director.OK(t, environ, "rooms", "say", "arena", "town:1", "five minutes")
	require.Contains(t, storetest.Values[string](d, "SELECT body FROM lobby_log ORDER BY pos DESC LIMIT 1")[0],
		"five minutes")

	require.ErrorContains(t, director.Run(t, env("DATABASE_URL="+d.URL), "", "rooms", "ban", "arena", "town:1",
		"ada").Err, "DIRECTOR_REALTIME_ROOMS")
	director.OK(t, environ, "rooms", "close", "arena", "town:1", "--reason", "over")
	for _, gone := range [][]string{{"rooms", "show", "arena", "town:1"}, {"rooms", "close", "none", "town:1"},
		{"rooms", "kick", "arena", "town:1", "a", "b"}} {
		require.ErrorContains(t, director.Run(t, environ, "", gone...).Err, "rooms list --project")
	}
	for _, wrong := range [][]string{{"mute", "arena", "town:1", "bo", "--for", "0s"},
		{"ban", "arena", "town:1", "bo", "--for", "9000h"}, {"kick", "arena", "town:1"}, {"list", "--limit", "0"}} {
		require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", append([]string{"rooms"}, wrong...)...).Err),
			wrong)
	}
	kinds := storetest.Values[string](d,
		"SELECT kind FROM ops.events WHERE kind LIKE 'lobby.%' AND actor LIKE 'sql:%' ORDER BY tx, id")
	require.Equal(t, []string{"lobby.player_muted", "lobby.player_pardoned", "lobby.player_kicked",
		"lobby.player_banned", "lobby.messaged", "lobby.closed"}, kinds)
}
