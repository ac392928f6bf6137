package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/migrations"
)

// Pins a migration through a pooler, where the session lock has no effect and two migrations would run at once.
func TestMigrateRefusesAPooler(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	refused := director.Run(t, env("DATABASE_URL="+url, "DIRECTOR_POOLER=pgbouncer"), "", "migrate", "up")
	require.Error(t, refused.Err)
	require.Contains(t, refused.Stderr, "set DATABASE_URL_DIRECT")
	director.OK(t, env("DATABASE_URL=postgres://nobody@127.0.0.1:1/nowhere", "DATABASE_URL_DIRECT="+url, "DIRECTOR_POOLER=pgbouncer"), "migrate", "up")
}

// Pins a migration that the command cannot apply, or undoes without a confirmation.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	// Migrations use DATABASE_URL_DIRECT if it is set.
	environ := env("DATABASE_URL=postgres://nobody@127.0.0.1:1/nowhere", "DATABASE_URL_DIRECT="+url)
	latest := migrations.Latest()

	all := clitest.Read[[]migrationLine](t, director, environ, "migrate", "status")
	require.False(t, all[0].Applied)

	up := clitest.Read[migrationResult](t, director, environ, "migrate", "up")
	require.Len(t, up.Versions, len(all))
	require.Equal(t, latest, up.Schema)
	require.Equal(t, migrationResult{[]int64{}, latest}, clitest.Read[migrationResult](t, director, environ, "migrate", "up"))
	require.Contains(t, director.OK(t, environ, "migrate", "up"), "Nothing to do")
	require.True(t, clitest.Read[[]migrationLine](t, director, environ, "migrate", "status")[0].Applied)

	for _, command := range []string{"down", "redo"} {
		hesitant := director.Run(t, environ, "no\n", "migrate", command)
		require.ErrorIs(t, hesitant.Err, errNotConfirmed)
		require.Contains(t, hesitant.Stderr, all[len(all)-1].Name, "it names the migration that would be undone")
		require.NotContains(t, hesitant.Stderr, all[0].Name)
		require.ErrorIs(t, director.Run(t, environ, "", "migrate", command).Err, errNotConfirmed, "without a terminal nobody can confirm")
	}
	require.Equal(t, latest, clitest.Read[migrationResult](t, director, environ, "migrate", "up").Schema)

	require.NoError(t, director.Run(t, environ, "yes\n", "migrate", "down").Err)
	require.Equal(t, migrationResult{[]int64{latest}, latest}, clitest.Read[migrationResult](t, director, environ, "migrate", "up"))
	require.Equal(t, migrationResult{[]int64{latest, latest}, latest}, clitest.Read[migrationResult](t, director, environ, "migrate", "redo", "--yes"))
	require.Zero(t, clitest.Read[migrationResult](t, director, environ, "migrate", "down", "--yes", "--steps", "99").Schema)
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "migrate", "down", "--steps", "0").Err))
}

// Pins keys that an operator cannot rotate or taint.
func TestKeys(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL="+dbtest.New(t), "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK, "DIRECTOR_TOKEN_ALG=Ed25519")
	require.Empty(t, clitest.Read[[]opsview.Key](t, director, environ, "keys", "list"))
	require.Equal(t, "[]\n", director.OK(t, environ, "keys", "list", "-o", "json"), "never null")

	require.Len(t, clitest.Read[[]newKeyLine](t, director, environ, "keys", "rotate"), 2)
	keys := clitest.Read[[]opsview.Key](t, director, environ, "keys", "list")
	require.Equal(t, "signing", keys[0].State)
	require.Equal(t, "next", keys[1].State)
	require.Equal(t, "Ed25519", keys[0].Alg)
	require.Contains(t, director.OK(t, environ, "keys", "rotate"), "No key is due")

	require.Contains(t, director.OK(t, environ, "keys", "rotate", "--force"), keys[1].KID+" signs from ")
	forced := clitest.Read[[]opsview.Key](t, director, environ, "keys", "list")
	require.Equal(t, keys[1].KID, forced[1].KID)
	require.Less(t, forced[1].SignFrom.Sub(forced[0].SignFrom), time.Hour, "it signs as soon as verifiers can know it")

	for _, changes := range []bool{true, false} {
		var lines []changeLine
		text := director.OK(t, environ, "keys", "taint", "--output", "json", "--", keys[0].KID)
		require.NoError(t, json.Unmarshal([]byte(text), &lines))
		require.Equal(t, []changeLine{{keys[0].KID, changes}}, lines)
	}
	require.ErrorContains(t, director.Run(t, environ, "", "keys", "taint", "-q2w7").Err, "put -- before a name that begins with a dash")
	require.Equal(t, "tainted", clitest.Read[[]opsview.Key](t, director, environ, "keys", "list")[0].State)
	require.Contains(t, director.OK(t, environ, "keys", "list"), keys[0].KID)

	unknown := director.Run(t, environ, "", "keys", "taint", "nobody")
	require.Equal(t, 1, cli.ExitCode(unknown.Err))
	require.Equal(t, "director: there is no key 'nobody'\n", unknown.Stderr)
	require.ErrorContains(t, director.Run(t, environ[:2], "", "keys", "rotate").Err, "DIRECTOR_KEY_ENCRYPTION_KEY")
}

// Pins a wait for the last player that returns while one is left, or never.
func TestDrainWaitsForThePlayers(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	seat, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)

	early := director.Run(t, environ, "", "fleet", "drain", "eu-1", "--wait", "--timeout", "100ms")
	require.Equal(t, 1, cli.ExitCode(early.Err))
	require.Contains(t, early.Stderr, "waiting: players left: 1, on 1 of 1 game servers (context deadline exceeded); the drains hold")

	over := make(chan clitest.Result, 1)
	go func() { over <- director.Run(t, environ, "", "fleet", "drain", "--host", "eu-1", "eu-1", "--wait") }()
	director.OK(t, environ, "sessions", "close", seat.SessionID, "--reason", "the host goes down")
	ended := <-over
	require.NoError(t, ended.Err, ended.Stderr)
	require.Contains(t, ended.Stderr, "no player is left")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "fleet", "drain", "eu-1", "--timeout", "1s").Err))
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "fleet", "undrain", "eu-1", "--wait").Err))
}

// Pins a drain that placement ignores.
func TestFleet(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)

	require.Equal(t, []changeLine{{"eu-1", true}}, clitest.Read[[]changeLine](t, director, environ, "fleet", "drain", "eu-1"))
	_, err := placeOn(t, s.Store, "anna")
	require.True(t, fault.Is(err, fault.NoCapacity), "%v", err)
	require.Equal(t, "draining", clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list")[0].Status)

	require.Equal(t, []changeLine{{"eu-1", true}}, clitest.Read[[]changeLine](t, director, environ, "fleet", "undrain", "eu-1"))
	_, err = placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	fleet := clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list", "--region", "eu", "--mode", "duel")
	require.Len(t, fleet, 1)
	require.EqualValues(t, 1, fleet[0].Players)
	require.EqualValues(t, 2, fleet[0].ReservedSeats)
	require.Equal(t, []string{"duel"}, fleet[0].Modes)
	require.Contains(t, director.OK(t, environ, "fleet", "list"), "eu-1:7777")
	require.Empty(t, clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list", "--region", "us"))
	require.Empty(t, clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list", "--mode", "ffa"))

	require.NoError(t, s.Deregister(t.Context(), db.InstanceRef{InstanceID: "eu-1"}))
	require.Empty(t, clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list"))
	require.Len(t, clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list", "--all"), 1)
	require.Equal(t, "director: instance 'eu-1' is gone\n", director.Run(t, environ, "", "fleet", "undrain", "eu-1").Stderr)

	s.AddServer("eu-2", 8)
	some := director.Run(t, environ, "", "fleet", "drain", "eu-1", "eu-2", "eu-3", "--output", "json")
	require.Equal(t, 1, cli.ExitCode(some.Err))
	require.Equal(t, "director: there is no instance 'eu-3'\n", some.Stderr)
	require.Contains(t, some.Stdout, `"id": "eu-1"`, "it is away, and drains when it is back")
	require.Contains(t, some.Stdout, `"id": "eu-2"`)
	require.Equal(t, "draining", clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list")[0].Status)
}

// Pins a drain of a host that no command ends or lists.
func TestFleetDrains(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	drain := func(args ...string) []changeLine {
		return clitest.Read[[]changeLine](t, director, environ, append([]string{"fleet"}, args...)...)
	}
	require.Equal(t, []changeLine{{"host eu-1", true}, {"label rack=7", true}}, drain("drain", "--host", "eu-1", "--label", "rack=7", "--region", "eu"))
	require.Equal(t, "draining", clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list")[0].Status)
	drains := clitest.Read[[]opsview.Drain](t, director, environ, "fleet", "drains")
	require.Len(t, drains, 2)
	require.Equal(t, opsview.Drain{
		Region: "eu", Target: "host", Value: "eu-1", Actor: drains[0].Actor, Since: drains[0].Since, Instances: 1,
	}, drains[0])
	require.Contains(t, drains[0].Actor, "sql:")
	require.Contains(t, director.OK(t, environ, "fleet", "drains"), "rack=7")
	require.Equal(t, []changeLine{{"host eu-1", false}}, drain("undrain", "--host", "eu-1"), "another region")
	require.Equal(t, []changeLine{{"host eu-1", true}}, drain("undrain", "--host", "eu-1", "--region", "eu"))
	require.Equal(t, "ready", clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list")[0].Status)
	require.Equal(t, []changeLine{{"region eu", true}}, drain("drain", "--region", "eu"))
	require.Equal(t, "draining", clitest.Read[[]opsview.Instance](t, director, environ, "fleet", "list")[0].Status)
	require.Equal(t, []changeLine{{"region eu", true}}, drain("undrain", "--region", "eu"))

	for want, args := range map[string][]string{
		"give --host, --label or --region": {"drain"},
		"--region is not of game servers":  {"drain", "eu-1", "--region", "eu"},
		"label must be key=value":          {"drain", "--label", "rack"},
		"host must be the host":            {"undrain", "--host", "eu-1:7777"},
		"there is no instance 'eu-1:777'":  {"undrain", "eu-1:777"},
	} {
		require.Contains(t, director.Run(t, environ, "", append([]string{"fleet"}, args...)...).Stderr, want)
	}
}

// Pins an open or closed session that the commands do not find.
func TestSessions(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	p, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)

	open := clitest.Read[[]opsview.Session](t, director, environ, "sessions", "list", "--region", "eu", "--mode", "duel", "--instance", "eu-1")
	require.Len(t, open, 1)
	require.Equal(t, p.SessionID, open[0].Session)
	require.Empty(t, clitest.Read[[]opsview.Session](t, director, environ, "sessions", "list", "--mode", "ffa"))
	require.ErrorContains(t, director.Run(t, environ, "", "sessions", "list", "--limit", "0").Err, "--limit 0 is not allowed: it must be 1 or more")

	one := clitest.Read[sessionDetails](t, director, environ, "sessions", "show", p.SessionID)
	require.Equal(t, "open", one.State)
	require.Equal(t, "anna", one.Seats[0].Player)
	table := director.OK(t, environ, "sessions", "show", p.SessionID)
	require.Contains(t, table, "anna")
	require.NotContains(t, table, p.SessionHandle)

	closing := director.Run(t, environ, "", "sessions", "close", p.SessionID, "eu.x", "--reason", "a test")
	require.Equal(t, 1, cli.ExitCode(closing.Err))
	require.Equal(t, "director: 'eu.x' is no session id (It is region.uuid, as in column session of ops.sessions.)\n", closing.Stderr)
	require.Contains(t, closing.Stdout, p.SessionID)
	require.ErrorContains(t, director.Run(t, environ, "", "sessions", "close", p.SessionID).Err, "was closed at")
	var actor string
	require.NoError(t, s.Pool().QueryRow(t.Context(), "SELECT actor FROM ops.events WHERE kind = 'session.closed'").Scan(&actor))
	require.Regexp(t, "^sql:.", actor)
	require.Equal(t, "a test", clitest.Read[sessionDetails](t, director, environ, "sessions", "show", p.SessionID).Closed.Reason)
	require.Contains(t, director.OK(t, environ, "sessions", "show", p.SessionID), "a test")
	require.ErrorContains(t, director.Run(t, environ, "", "sessions", "show", "eu.x").Err, `there is no session "eu.x"`)
}

// Pins a raw error of Postgres without an instruction for the operator.
func TestDatabaseErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	empty := director.Run(t, env("DATABASE_URL="+dbtest.Empty(t)), "", "fleet", "list")
	require.ErrorContains(t, empty.Err, "run 'director migrate up'")
	away := director.Run(t, env("DATABASE_URL=postgres://u:geheim@127.0.0.1:1/d"), "", "fleet", "list")
	require.ErrorContains(t, away.Err, "the database cannot be reached: start Postgres, or correct host and port in DATABASE_URL")
	require.NotContains(t, away.Stderr, "geheim")
	require.Equal(t, 1, cli.ExitCode(away.Err))
}

// Pins a server that is shown without its players.
func TestFleetShow(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	p, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	_, err = placeOn(t, s.Store, "bob")
	require.NoError(t, err)

	one := clitest.Read[instanceDetails](t, director, environ, "fleet", "show", "eu-1")
	require.Equal(t, "eu-1", one.Instance.Instance)
	require.Len(t, one.Sessions, 1)
	require.Equal(t, p.SessionID, one.Sessions[0].Session)
	require.Equal(t, []string{"anna", "bob"}, one.Sessions[0].Who)
	text := director.OK(t, environ, "fleet", "show", "eu-1")
	require.Contains(t, text, "seats          2 of 8 reserved by sessions, 6 free\n")
	require.Contains(t, text, "players        2\nsessions       1 open\n")
	require.Contains(t, text, "anna,bob")
	require.NotContains(t, text, p.SessionHandle)
	require.ErrorContains(t, director.Run(t, environ, "", "fleet", "show", "eu-9").Err, `there is no instance "eu-9"`)

	require.NoError(t, s.Deregister(t.Context(), db.InstanceRef{InstanceID: "eu-1"}))
	require.Regexp(t, `lease +ended 2\d{3}-`, director.OK(t, environ, "fleet", "show", "eu-1"))
}

// Pins a violation that is not printed, or has exit code 0.
func TestInvariants(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	p, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	require.Contains(t, director.OK(t, environ, "invariants"), "seat count drift")
	for _, i := range clitest.Read[[]invariantLine](t, director, environ, "invariants") {
		require.Zero(t, i.Violations, i.Name)
	}

	_, err = s.Pool().Exec(t.Context(), "UPDATE sessions SET player_count = 2")
	require.NoError(t, err)
	r := director.Run(t, environ, "", "invariants")
	require.Equal(t, 1, cli.ExitCode(r.Err))
	require.Contains(t, r.Stderr, "violated: seat count drift")
	require.Regexp(t, `seat count drift: \{.*`+p.SessionID, r.Stdout)
	r = director.Run(t, environ, "", "invariants", "-o", "json")
	require.Equal(t, 1, cli.ExitCode(r.Err))
	require.Contains(t, r.Stdout, `"violations": 1`)
}

// Pins keys of an operator without the workers' settings: they signed before verifiers knew them, and left the JWKS
// before their tokens expired.
func TestKeysOfAnOperatorHaveTheTimesOfTheFleet(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	environ := env("DATABASE_URL="+s.URL, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK)
	director.OK(t, environ, "keys", "rotate", "--session-token-ttl", "10m")
	director.OK(t, environ, "keys", "rotate", "--force")
	for _, which := range []string{"<=", ">"} { // two hours pass: the next key signs, and a further one is due
		s.Exec(`UPDATE signing_keys SET publish_at = publish_at - interval '2 hours', sign_from = sign_from - interval '2 hours',
			sign_until = sign_until - interval '2 hours', verify_until = verify_until - interval '2 hours' WHERE sign_from ` + which + ` now()`)
	}
	require.Len(t, clitest.Read[[]newKeyLine](t, director, environ, "keys", "rotate"), 1)
	require.Equal(t, 2, s.Count("SELECT count(*) FROM signing_keys WHERE lead >= '5 minutes' AND overlap >= '15 minutes'"))
}
