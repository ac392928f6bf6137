package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// examined runs doctor, and returns its findings and the exit code.
func examined(t *testing.T, environ []string) (d diagnosis, found map[string]doctor.Finding, code int) {
	t.Helper()
	r := director.Run(t, environ, "", "doctor", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &d), r.Stderr)
	found = map[string]doctor.Finding{}
	for _, f := range d.Checks {
		found[f.Check] = f
	}
	return d, found, cli.ExitCode(r.Err)
}

// outsider is a connection of a program that is not the director.
func outsider(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	config := must.Get(pgx.ParseConfig(url))(t)
	config.RuntimeParams["application_name"] = "forgotten"
	conn := must.Get(pgx.ConnectConfig(t.Context(), config))(t)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Pins a doctor that reports no fault of a broken installation, or a fault of a healthy one.
func TestDoctor(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	d, found, code := examined(t, environ)
	require.Equal(t, 1, code)
	require.Equal(t, doctor.Fail, d.State)
	require.Equal(t, "no replica has ever served this database", found["replicas"].Says)
	require.Equal(t, "no worker has run on this database", found["workers"].Says)
	require.Contains(t, found["signing keys"].Says, "no key signs")
	require.Equal(t, doctor.OK, found["fleet"].State, "an installation that never had game servers is new")
	require.Len(t, d.Checks, 35)

	start(t, serving(url, login(t).JWKS(), "DIRECTOR_WORK=true"), "serve").api()
	s.AddServer("eu-1", 8)
	require.Eventually(t, func() bool {
		_, found, _ = examined(t, environ)
		return found["workers"].State == doctor.OK && found["signing keys"].State == doctor.OK && found["replicas"].State == doctor.OK
	}, deadline, tick)
	for _, check := range []string{"database", "postgres", "pooler", "schema", "restored dump", "invariants", "partitions", "replication", "clock", "seats", "writes", "fleet", "refusals", "tickets", "key sets"} {
		require.Equal(t, doctor.OK, found[check].State, "%+v", found[check])
		require.Empty(t, found[check].Do)
	}
}

// Pins a failure that doctor does not find, or does not name first.
func TestDoctorFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK), storetest.OnDatabase(t, url)
	director.OK(t, environ, "keys", "rotate")
	s.AddServer("eu-1", 8)
	_, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	for _, sql := range []string{
		`UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour'`,
		`INSERT INTO worker_loops (loop, every, succeeded_at) VALUES ('reap', '1 s', now()), ('history', '10 min', now() - interval '2 hours')`,
		`UPDATE sessions SET player_count = 2`,
		`INSERT INTO events (kind, tx) VALUES ('from.elsewhere', '9000000000000000000')`,
		`DO $$ BEGIN EXECUTE 'DROP TABLE events_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'); END $$`,
		`INSERT INTO events (kind, tx) VALUES ('stray', '9000000000000000000')`,
	} {
		_, err := s.Pool().Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	// timeouts end long waits and transactions of a director's own connections
	holder, waiter := outsider(t, url), outsider(t, url)
	_, err = holder.Exec(t.Context(), "BEGIN; LOCK TABLE idempotency_keys")
	require.NoError(t, err)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		_, _ = waiter.Exec(t.Context(), "SELECT FROM idempotency_keys")
	}()

	var found map[string]doctor.Finding
	var d diagnosis
	require.Eventually(t, func() bool {
		d, found, _ = examined(t, environ)
		return found["locks"].State == doctor.Fail
	}, deadline, tick)
	require.Regexp(t, `1 wait for locks, the longest for \S+, blocked by pid \d+, forgotten, idle in transaction`, found["locks"].Says)
	require.Contains(t, found["restored dump"].Says, "transaction ids of another server")
	require.Contains(t, found["workers"].Says, "loops that fail: history (2h")
	require.Equal(t, "violated: seat count drift (1)", found["invariants"].Says)
	require.NotEqual(t, doctor.OK, found["partitions"].State)
	require.Equal(t, doctor.OK, found["replicas"].State)
	require.Equal(t, "restored dump: director migrate up", d.First)
	_, err = holder.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	<-waiting

	text := director.Run(t, environ, "", "doctor")
	require.Contains(t, text.Stdout, "fail  invariants     violated: seat count drift (1)\n                     > director invariants, and again after ten seconds\n"+
		"                     > docs/runbook.md, \"An invariant has violations\"")
	require.Contains(t, text.Stdout, "\nFirst: restored dump: director migrate up\n")
	require.Equal(t, "director: a check failed\n", text.Stderr)
}

// Pins checks that run, and fail, although an earlier failure makes them impossible.
func TestDoctorStopsWhereNothingElseCanBeSeen(t *testing.T) {
	t.Parallel()
	d, found, code := examined(t, env("DATABASE_URL=postgres://u:geheim@127.0.0.1:1/d"))
	require.Equal(t, 1, code)
	require.Len(t, d.Checks, 1)
	require.Contains(t, d.First, "start Postgres, or correct host and port in DATABASE_URL")
	require.NotContains(t, found["database"].Says, "geheim")

	d, found, _ = examined(t, env("DATABASE_URL="+dbtest.Empty(t)))
	require.Contains(t, found["schema"].Do, "run 'director migrate up', or correct the search_path")
	require.Equal(t, "schema", d.Checks[0].Check)
	require.Len(t, d.Checks, 4)
}
