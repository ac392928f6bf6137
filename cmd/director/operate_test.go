package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/migrations"
)

// Pins a migration through a pooler, where the session lock has no effect and two migrations would run at once.
func TestMigrateRefusesAPooler(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	refused := run(t, env("DATABASE_URL="+url, "DIRECTOR_POOLER=pgbouncer"), "", "migrate", "up")
	require.Error(t, refused.err)
	require.Contains(t, refused.stderr, "set DATABASE_URL_DIRECT")
	ok(t, env("DATABASE_URL=postgres://nobody@127.0.0.1:1/nowhere", "DATABASE_URL_DIRECT="+url, "DIRECTOR_POOLER=pgbouncer"), "migrate", "up")
}

// Pins a migration that the command cannot apply, or undoes without a confirmation.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	// Migrations use DATABASE_URL_DIRECT if it is set.
	environ := env("DATABASE_URL=postgres://nobody@127.0.0.1:1/nowhere", "DATABASE_URL_DIRECT="+url)
	latest := migrations.Latest()

	all := read[[]migrationLine](t, environ, "migrate", "status")
	require.False(t, all[0].Applied)

	up := read[migrationResult](t, environ, "migrate", "up")
	require.Len(t, up.Versions, len(all))
	require.Equal(t, latest, up.Schema)
	require.Equal(t, migrationResult{[]int64{}, latest}, read[migrationResult](t, environ, "migrate", "up"))
	require.Contains(t, ok(t, environ, "migrate", "up"), "Nothing to do")
	require.True(t, read[[]migrationLine](t, environ, "migrate", "status")[0].Applied)

	for _, command := range []string{"down", "redo"} {
		hesitant := run(t, environ, "no\n", "migrate", command)
		require.ErrorIs(t, hesitant.err, errNotConfirmed)
		require.Contains(t, hesitant.stderr, all[len(all)-1].Name, "it names the migration that would be undone")
		require.NotContains(t, hesitant.stderr, all[0].Name)
		require.ErrorIs(t, run(t, environ, "", "migrate", command).err, errNotConfirmed, "without a terminal nobody can confirm")
	}
	require.Equal(t, latest, read[migrationResult](t, environ, "migrate", "up").Schema)

	require.NoError(t, run(t, environ, "yes\n", "migrate", "down").err)
	require.Equal(t, migrationResult{[]int64{latest}, latest}, read[migrationResult](t, environ, "migrate", "up"))
	require.Equal(t, migrationResult{[]int64{latest, latest}, latest}, read[migrationResult](t, environ, "migrate", "redo", "--yes"))
	require.Zero(t, read[migrationResult](t, environ, "migrate", "down", "--yes", "--steps", "99").Schema)
	require.Equal(t, 2, cli.ExitCode(run(t, environ, "", "migrate", "down", "--steps", "0").err))
}

// Pins keys that an operator cannot rotate or taint.
func TestKeys(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL="+dbtest.New(t), "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK, "DIRECTOR_TOKEN_ALG=Ed25519")
	require.Empty(t, read[[]keyLine](t, environ, "keys", "list"))
	require.Equal(t, "[]\n", ok(t, environ, "keys", "list", "-o", "json"), "never null")

	require.Len(t, read[[]madeLine](t, environ, "keys", "rotate"), 2)
	keys := read[[]keyLine](t, environ, "keys", "list")
	require.Equal(t, "signing", keys[0].State)
	require.Equal(t, "next", keys[1].State)
	require.Equal(t, "Ed25519", keys[0].Alg)
	require.Contains(t, ok(t, environ, "keys", "rotate"), "No key is due")

	require.Contains(t, ok(t, environ, "keys", "rotate", "--force"), keys[1].KID+" signs from ")
	forced := read[[]keyLine](t, environ, "keys", "list")
	require.Equal(t, keys[1].KID, forced[1].KID)
	require.Less(t, forced[1].SignFrom.Sub(forced[0].SignFrom), time.Hour, "it signs as soon as verifiers can know it")

	for _, changes := range []bool{true, false} {
		var lines []changeLine
		text := ok(t, environ, "keys", "taint", "--output", "json", "--", keys[0].KID)
		require.NoError(t, json.Unmarshal([]byte(text), &lines))
		require.Equal(t, []changeLine{{keys[0].KID, changes}}, lines)
	}
	require.ErrorContains(t, run(t, environ, "", "keys", "taint", "-q2w7").err, "put -- before a name that begins with a dash")
	require.Equal(t, "tainted", read[[]keyLine](t, environ, "keys", "list")[0].State)
	require.Contains(t, ok(t, environ, "keys", "list"), keys[0].KID)

	unknown := run(t, environ, "", "keys", "taint", "nobody")
	require.Equal(t, 1, cli.ExitCode(unknown.err))
	require.Equal(t, "director: there is no key 'nobody'\n", unknown.stderr)
	require.ErrorContains(t, run(t, environ[:2], "", "keys", "rotate").err, "DIRECTOR_KEY_ENCRYPTION_KEY")
}

// Pins a drain that placement ignores.
func TestFleet(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storeOn(t, url)
	registerOn(t, s, "eu-1")

	require.Equal(t, []changeLine{{"eu-1", true}}, read[[]changeLine](t, environ, "fleet", "drain", "eu-1"))
	_, err := placeOn(t, s, "anna")
	require.True(t, db.IsKind(err, db.NoCapacity), "%v", err)
	require.Equal(t, "draining", read[[]instanceLine](t, environ, "fleet", "list")[0].Status)

	require.Equal(t, []changeLine{{"eu-1", true}}, read[[]changeLine](t, environ, "fleet", "undrain", "eu-1"))
	_, err = placeOn(t, s, "anna")
	require.NoError(t, err)
	fleet := read[[]instanceLine](t, environ, "fleet", "list", "--region", "eu", "--mode", "duel")
	require.Len(t, fleet, 1)
	require.Equal(t, 1, fleet[0].Players)
	require.Equal(t, 2, fleet[0].ReservedSeats)
	require.Equal(t, []string{"duel"}, fleet[0].Modes)
	require.Contains(t, ok(t, environ, "fleet", "list"), "eu-1:7777")
	require.Empty(t, read[[]instanceLine](t, environ, "fleet", "list", "--region", "us"))
	require.Empty(t, read[[]instanceLine](t, environ, "fleet", "list", "--mode", "ffa"))

	require.NoError(t, s.Deregister(t.Context(), db.InstanceRef{InstanceID: "eu-1"}))
	require.Empty(t, read[[]instanceLine](t, environ, "fleet", "list"))
	require.Len(t, read[[]instanceLine](t, environ, "fleet", "list", "--all"), 1)
	require.Equal(t, "director: instance 'eu-1' is gone\n", run(t, environ, "", "fleet", "drain", "eu-1").stderr)

	registerOn(t, s, "eu-2")
	some := run(t, environ, "", "fleet", "drain", "eu-1", "eu-2", "eu-3", "--output", "json")
	require.Equal(t, 1, cli.ExitCode(some.err))
	require.Equal(t, "director: instance 'eu-1' is gone\ndirector: there is no instance 'eu-3'\n", some.stderr)
	require.Contains(t, some.stdout, `"id": "eu-2"`)
	require.Equal(t, "draining", read[[]instanceLine](t, environ, "fleet", "list")[0].Status)
}

// Pins an open or closed session that the commands do not find.
func TestSessions(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storeOn(t, url)
	registerOn(t, s, "eu-1")
	p, err := placeOn(t, s, "anna")
	require.NoError(t, err)

	open := read[[]sessionLine](t, environ, "sessions", "list", "--region", "eu", "--mode", "duel", "--instance", "eu-1")
	require.Len(t, open, 1)
	require.Equal(t, p.SessionID, open[0].Session)
	require.Empty(t, read[[]sessionLine](t, environ, "sessions", "list", "--mode", "ffa"))
	require.ErrorContains(t, run(t, environ, "", "sessions", "list", "--limit", "0").err, "--limit 0 is not allowed: it must be 1 or more")

	one := read[sessionDetails](t, environ, "sessions", "show", p.SessionID)
	require.Equal(t, "open", one.State)
	require.Equal(t, "anna", one.Seats[0].Player)
	table := ok(t, environ, "sessions", "show", p.SessionID)
	require.Contains(t, table, "anna")
	require.NotContains(t, table, p.SessionHandle)

	closing := run(t, environ, "", "sessions", "close", p.SessionID, "eu.x", "--reason", "a test")
	require.Equal(t, 1, cli.ExitCode(closing.err))
	require.Equal(t, "director: 'eu.x' is no session id (It is region.uuid, as in column session of ops.sessions.)\n", closing.stderr)
	require.Contains(t, closing.stdout, p.SessionID)
	require.ErrorContains(t, run(t, environ, "", "sessions", "close", p.SessionID).err, "was closed at")
	var actor string
	require.NoError(t, s.Pool().QueryRow(t.Context(), "SELECT actor FROM ops.events WHERE kind = 'session.closed'").Scan(&actor))
	require.Regexp(t, "^sql:.", actor)
	require.Equal(t, "a test", read[sessionDetails](t, environ, "sessions", "show", p.SessionID).Closed.Reason)
	require.Contains(t, ok(t, environ, "sessions", "show", p.SessionID), "a test")
	require.ErrorContains(t, run(t, environ, "", "sessions", "show", "eu.x").err, `there is no session "eu.x"`)
}

// Pins a raw error of Postgres without an instruction for the operator.
func TestDatabaseErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	empty := run(t, env("DATABASE_URL="+dbtest.Empty(t)), "", "fleet", "list")
	require.ErrorContains(t, empty.err, "run 'director migrate up'")
	away := run(t, env("DATABASE_URL=postgres://u:geheim@127.0.0.1:1/d"), "", "fleet", "list")
	require.ErrorContains(t, away.err, "the database cannot be reached, check DATABASE_URL")
	require.NotContains(t, away.stderr, "geheim")
	require.Equal(t, 1, cli.ExitCode(away.err))
}

// Pins a server that is shown without its players.
func TestFleetShow(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storeOn(t, url)
	registerOn(t, s, "eu-1")
	p, err := placeOn(t, s, "anna")
	require.NoError(t, err)
	_, err = placeOn(t, s, "bob")
	require.NoError(t, err)

	one := read[instanceDetails](t, environ, "fleet", "show", "eu-1")
	require.Equal(t, "eu-1", one.Instance)
	require.Len(t, one.Sessions, 1)
	require.Equal(t, p.SessionID, one.Sessions[0].Session)
	require.Equal(t, []string{"anna", "bob"}, one.Sessions[0].Who)
	text := ok(t, environ, "fleet", "show", "eu-1")
	require.Contains(t, text, "seats          2 of 8 reserved by sessions, 6 free\n")
	require.Contains(t, text, "players        2\nsessions       1 open\n")
	require.Contains(t, text, "anna,bob")
	require.NotContains(t, text, p.SessionHandle)
	require.ErrorContains(t, run(t, environ, "", "fleet", "show", "eu-9").err, `there is no instance "eu-9"`)

	require.NoError(t, s.Deregister(t.Context(), db.InstanceRef{InstanceID: "eu-1"}))
	require.Regexp(t, `lease +ended 2\d{3}-`, ok(t, environ, "fleet", "show", "eu-1"))
}

// Pins a violation that is not printed, or has exit code 0.
func TestInvariants(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storeOn(t, url)
	registerOn(t, s, "eu-1")
	p, err := placeOn(t, s, "anna")
	require.NoError(t, err)
	require.Contains(t, ok(t, environ, "invariants"), "seat count drift")
	for _, i := range read[[]invariantLine](t, environ, "invariants") {
		require.Zero(t, i.Violations, i.Name)
	}

	_, err = s.Pool().Exec(t.Context(), "UPDATE sessions SET player_count = 2")
	require.NoError(t, err)
	r := run(t, environ, "", "invariants")
	require.Equal(t, 1, cli.ExitCode(r.err))
	require.Contains(t, r.stderr, "violated: seat count drift")
	require.Regexp(t, `seat count drift: \{.*`+p.SessionID, r.stdout)
	r = run(t, environ, "", "invariants", "-o", "json")
	require.Equal(t, 1, cli.ExitCode(r.err))
	require.Contains(t, r.stdout, `"violations": 1`)
}
