package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a shell in which support sees less of a player than in the console, or takes something back without a reason.
func TestPlayers(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.On(t, url)
	s.AddServer("eu-1", 8)
	s.AddProfile("duel", storetest.Duel)
	placed, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	ticket := s.QueuePlayer("anna", 1000, "duel")
	s.Exec(`INSERT INTO stored_players (region, sub, attributes, avoid, may_party_with, updated_by) VALUES ('global', 'anna', '{"name": "Zoë"}', '{}', '{}', 'backend:game')`)

	shown := clitest.Read[playerDetails](t, director, environ, "players", "show", "anna")
	require.Equal(t, placed.SessionID, shown.Seats[0].Session)
	require.Equal(t, "eu-1", shown.Seats[0].Instance)
	require.Equal(t, ticket, shown.Tickets[0].Ticket)
	require.JSONEq(t, `{"name": "Zoë"}`, string(shown.Stored.Attributes))
	require.Regexp(t, `(?s)^player +anna\nseats +1\n.*last seat +none that is remembered\nstored +{"name": "Zoë"}\n\nSESSION.*`+placed.SessionID+`.*TICKET.*`+ticket,
		director.OK(t, environ, "players", "show", "anna"))
	require.ErrorContains(t, director.Run(t, environ, "", "players", "show", "ann").Err, "these begin so: anna")
	require.ErrorContains(t, director.Run(t, environ, "", "players", "show", "Zoë").Err, "these have an attribute with this text: anna")

	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "players", "cancel-ticket", ticket).Err), "a reason is required")
	for _, changed := range []bool{true, false} {
		require.Equal(t, []changeLine{{ticket, changed}}, clitest.Read[[]changeLine](t, director, environ, "players", "cancel-ticket", ticket, "--reason", "asked for it"))
		require.Equal(t, []changeLine{{"anna", changed}}, clitest.Read[[]changeLine](t, director, environ, "players", "free-seat", placed.SessionID, "anna", "--reason", "stuck"))
	}
	left := clitest.Read[playerDetails](t, director, environ, "players", "show", "anna")
	require.Empty(t, left.Seats)
	require.Empty(t, left.Tickets)
	require.Equal(t, "freed by an operator", left.LastSeat.Reason)
}

// Pins an answer about capacity that a request then does not get.
func TestCapacity(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.On(t, url)
	require.ErrorContains(t, director.Run(t, environ, "", "capacity").Err, "no game server offers a mode")
	s.AddServer("eu-1", 8)
	lines := clitest.Read[[]capacityLine](t, director, environ, "capacity")
	require.Equal(t, []capacityLine{{Region: "eu", Mode: "duel", Seats: 8, FreeSeats: 8, LargestSession: 8, LiveServers: 1}}, lines)
	refused := director.Run(t, environ, "", "capacity", "--players", "9", "--region", "eu")
	require.ErrorContains(t, refused.Err, "a request for 9 players is refused in every mode in region eu")
	require.Contains(t, refused.Stdout, "no game server has room")
	_, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	require.Equal(t, 1, cli.ExitCode(director.Run(t, environ, "", "capacity", "--players", "8").Err))
	require.Contains(t, director.OK(t, environ, "capacity", "--players", "3", "--seats", "4"), "seats")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "capacity", "--players", "0").Err))
}
