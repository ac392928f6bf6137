package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a shell in which support sees less of a player than in the console, or takes something back without a reason.
func TestPlayers(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
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

// Pins a completion that offers those with a ticket in region global, whatever DIRECTOR_OM_REGION says.
func TestPlayersAreCompletedInTheirRegion(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	s := storetest.OnDatabase(t, url)
	s.AddProfile("duel", storetest.Duel)
	s.QueuePlayer("anna", 1000, "duel")
	offered := func(region string) string {
		return director.OK(t, env("DATABASE_URL="+url, "DIRECTOR_OM_REGION="+region), "__complete", "players", "show", "an")
	}
	// Repeated: on a busy machine a query may exceed the timeout of a completion.
	require.Eventually(t, func() bool { return strings.Contains(offered("global"), "anna") }, deadline, tick)
	require.NotContains(t, offered("eu"), "anna")
}

// Pins a shell in which a player cannot be erased, or asked what is known, or is erased twice.
func TestErasePlayers(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	s.AddProfile("duel", storetest.Duel)
	_, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	s.QueuePlayer("anna", 1000, "duel")
	s.QueuePlayer("bo", 1000, "duel")
	var exported db.PlayerExport
	require.NoError(t, json.Unmarshal([]byte(director.OK(t, environ, "players", "export", "anna")), &exported))
	require.Len(t, exported.Data["seats"], 1)
	require.Len(t, exported.Data["tickets"], 1)
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "erase", "anna").Err), "a reason is required")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "erase", "-", "anna", "--reason", "x").Err))
	require.Equal(t, []changeLine{{"anna", true}}, clitest.Read[[]changeLine](t, director, environ, "erase", "anna", "--reason", "asked"))
	require.Equal(t, []changeLine{{"anna", false}}, clitest.Read[[]changeLine](t, director, environ, "players", "erase", "anna", "--reason", "asked"))
	require.ErrorContains(t, director.Run(t, environ, "", "players", "export", "anna").Err, `nothing is known of player "anna"`)
	require.Equal(t, 1, s.Count("SELECT count(*) FROM tickets"), "the ticket of the other player")
	again := director.Run(t, environ, "anna\n\nbo\n", "erase", "-", "--reason", "after a restore", "-o", "json")
	require.NoError(t, again.Err)
	require.JSONEq(t, `[{"id": "anna", "changed": false}, {"id": "bo", "changed": true}]`, again.Stdout)
}

// Pins a shell that cannot be asked what was true, or shows what is true now.
func TestAt(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	placed, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	then := storetest.One[time.Time](s, "SELECT clock_timestamp()").UTC().Format(time.RFC3339Nano)
	require.NoError(t, s.As("").CloseSession(t.Context(), placed.SessionID, "over"))
	require.EqualValues(t, 1, clitest.Read[[]db.InstanceAt](t, director, environ, "at", then, "fleet")[0].Players)
	require.Equal(t, placed.SessionID, clitest.Read[[]db.SessionAt](t, director, environ, "at", then, "sessions", "--region", "eu")[0].Session)
	require.Equal(t, "anna", clitest.Read[[]db.SeatAt](t, director, environ, "at", then, "seats")[0].Player)
	require.Empty(t, clitest.Read[[]db.KeyAt](t, director, environ, "at", then, "keys"))
	require.Contains(t, director.OK(t, environ, "at", then, "seats"), "anna")
	require.Equal(t, "[]\n", director.OK(t, environ, "at", "0s", "seats", "-o", "json"))
	early := director.Run(t, environ, "", "at", "2000-01-01T00:00:00Z", "fleet")
	require.Equal(t, 1, cli.ExitCode(early.Err))
	require.Contains(t, early.Stderr, "what was true of fleet at 2000-01-01T00:00:00Z is not known: the oldest time that is, is 20")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "at", "soon", "fleet").Err))
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "at", "0s", "tickets").Err))
}

// Pins an answer about capacity that a request then does not get.
func TestCapacity(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
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
