package db_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestOpsFleetShowsLiveAndEndedInstances(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "alive", "1 minute", "duel", "raid")
	d.instance("eu", "silent", "2 hours", "duel")
	d.instance("us", "gone", "1 minute", "duel")
	d.session("eu", "alive", "duel", "ann", "bob")
	d.session("eu", "alive", "raid", "cid")
	d.Exec(`SELECT end_instance('us', 'gone', 'deregistered')`)

	require.Equal(t, []string{
		"eu|alive|alive.example:7777|ready|t|{duel,raid}|{\"rack\": \"7\"}|1.2.3|0.25|16|8|8|3|2||f",
		"us|gone|gone.example:7777|gone|f|{duel}|{\"rack\": \"7\"}|1.2.3||16|0|0|0|0||f",
		"eu|silent|silent.example:7777|ready|f|{duel}|{\"rack\": \"7\"}|1.2.3|0.25|16|0|16|0|0||f",
	}, d.Rows(`SELECT region, instance, endpoint, status, alive, modes, labels, version, load, capacity, reserved_seats, available,
		players, open_sessions, max_sessions, reports_seats FROM ops.fleet ORDER BY instance`))
	require.Equal(t, []string{"alive|t|t|t|f", "gone|||t|t", "silent|t|f|t|f"}, d.Rows(`SELECT instance, last_heartbeat < now(),
		lease_age < '1 hour', registered_at < now(), ended_at IS NOT NULL FROM ops.fleet ORDER BY instance`))
}

func TestOpsSessionsAndSeats(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "alive", "1 minute", "duel")
	d.instance("eu", "silent", "2 hours", "duel")
	d.instance("eu", "reborn", "1 minute", "duel")
	played, silent, reborn := d.session("eu", "alive", "duel", "ann", "bob"), d.session("eu", "silent", "duel", "cid"), d.session("eu", "reborn", "duel")
	d.connect(played, "bob", "token-1")
	d.Exec(`UPDATE instances SET incarnation = gen_random_uuid() WHERE id = 'reborn'`)
	d.Exec(`UPDATE instance_leases l SET incarnation = i.incarnation FROM instances i WHERE i.id = l.instance_id`)

	require.Equal(t, []string{
		"eu|" + played + "|duel|alive|t|2|1|4|t",
		"eu|" + reborn + "|duel|reborn|f|0|0|4|t",
		"eu|" + silent + "|duel|silent|f|1|0|4|t",
	}, d.Rows(`SELECT region, session, mode, instance, instance_alive, players, connected, max_players, age BETWEEN '10 minutes' AND '1 hour'
		FROM ops.sessions ORDER BY instance`))
	require.Equal(t, []string{
		"eu|" + played + "|alive|duel|ann|reserved|ann|f|t",
		"eu|" + played + "|alive|duel|bob|connected|bob|t|f",
		"eu|" + silent + "|silent|duel|cid|reserved|cid|f|t",
	}, d.Rows(`SELECT region, session, instance, mode, player, state, reserved_by, connected_at IS NOT NULL, expires_at IS NOT NULL
		FROM ops.seats ORDER BY player`))
}

func TestOpsCapacityCountsAnInstanceInEachOfItsModes(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "both", "1 minute", "duel", "raid")
	d.instance("eu", "draining", "1 minute", "duel")
	d.instance("eu", "slots-taken", "1 minute", "duel")
	d.instance("eu", "silent", "2 hours", "duel")
	d.Exec(`UPDATE instances SET status = 'draining' WHERE id = 'draining'`)
	d.Exec(`UPDATE instances SET max_sessions = 1 WHERE id = 'slots-taken'`)
	d.session("eu", "both", "duel", "a1")
	d.session("eu", "draining", "duel", "b1")
	d.session("eu", "slots-taken", "duel", "c1", "c2", "c3", "c4")
	d.session("eu", "silent", "duel", "d1")
	d.session("eu", "silent", "old-mode", "e1")

	require.Equal(t, []string{
		"eu|duel|3|1|48|12|12|4|7|1", // room to join only in the session on "both"; free seats only there, too
		"eu|old-mode|0|0|0|0|0|1|1|0",
		"eu|raid|1|0|16|4|12|0|0|0",
	}, d.Rows(`SELECT region, mode, instances, draining, seats, reserved_seats, free_seats, open_sessions, players, sessions_with_room
		FROM ops.capacity ORDER BY region, mode`))
}

func TestOpsPlacementsCountSeatsThatLeft(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel")
	d.session("eu", "arena", "duel", "ann", "bob")
	minute := time.Now().Truncate(time.Minute).Add(-2 * time.Hour)
	d.Exec(`UPDATE seats SET reserved_at = CASE sub WHEN 'ann' THEN $1::timestamptz ELSE '2020-01-01' END`, minute)
	d.leave("cid", minute.Add(59*time.Second), minute.Add(time.Hour))
	d.leave("dan", minute.Add(-time.Second), minute)
	d.leave("eve", minute.Add(-23*time.Hour), minute)

	require.Equal(t, []string{fmt.Sprintf("%d|eu|duel|1", minute.Unix()-60), fmt.Sprintf("%d|eu|duel|2", minute.Unix())},
		d.Rows(`SELECT extract(epoch FROM minute)::bigint, region, mode, placements FROM ops.placements_per_minute ORDER BY minute`))
}

// Pins a dashboard that reads the whole history every few seconds.
func TestOpsHistoryViewsReadNoOldPartition(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	for _, table := range []string{"seat_history", "session_history"} {
		d.Exec(`CREATE TABLE ` + table + `_20200101 PARTITION OF ` + table + ` FOR VALUES FROM ('2020-01-01 00:00+00') TO ('2020-01-02 00:00+00')`)
	}
	for _, view := range []string{"placements_per_minute", "seat_outcomes", "session_lifetimes"} {
		plan := strings.Join(d.Rows(`EXPLAIN SELECT * FROM ops.`+view), "\n")
		require.Contains(t, plan, "Subplans Removed: ", view)
		require.NotContains(t, plan, "20200101", view)
	}
}

func TestOpsSeatOutcomesShowReasons(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	minute := time.Now().Truncate(time.Minute).Add(-time.Hour)
	d.leave("ann", minute.Add(-time.Hour), minute)
	d.leave("bob", minute.Add(-time.Hour), minute.Add(59*time.Second))
	d.leave("cid", minute.Add(-30*time.Hour), minute.Add(-25*time.Hour))
	d.Exec(`UPDATE seat_history SET connected_at = reserved_at WHERE sub = 'ann'`)

	require.Equal(t, []string{fmt.Sprintf("%d|eu|duel|left|2|1", minute.Unix())},
		d.Rows(`SELECT extract(epoch FROM minute)::bigint, region, mode, reason, seats, had_connected FROM ops.seat_outcomes`))
}

func TestOpsSessionLifetimesCoverADay(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel")
	s, old := d.session("eu", "arena", "duel", "ann"), d.session("eu", "arena", "duel")
	d.Exec(`SELECT close_sessions('eu', ARRAY(SELECT id FROM sessions), 'ended')`)
	d.Exec(`UPDATE session_history SET closed_at = now() - interval '25 hours' WHERE region || '.' || id = $1`, old)

	require.Equal(t, []string{"eu|" + s + "|duel|arena|t|1|4|ended|t"}, d.Rows(`SELECT region, session, mode, instance,
		lifetime BETWEEN '10 minutes' AND '1 hour', players, max_players, reason, closed_at - opened_at = lifetime FROM ops.session_lifetimes`))
}

func TestOpsKeysShowStates(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.key("expired", "-9 days", "-8 days")
	d.key("retiring", "-1 day", "-1 minute")
	d.key("tainted", "-1 minute", "1 day")
	d.Exec(`UPDATE signing_keys SET tainted_at = now() WHERE kid = 'tainted'`)
	d.key("signing", "-1 minute", "1 day")
	d.key("next", "1 day", "2 days")

	require.Equal(t, []string{"expired|EdDSA|expired|kek-1|f", "next|EdDSA|next|kek-1|f", "retiring|EdDSA|retiring|kek-1|f", "signing|EdDSA|signing|kek-1|f", "tainted|EdDSA|tainted|kek-1|t"},
		d.Rows(`SELECT kid, alg, state, sealed_by, tainted_at IS NOT NULL FROM ops.keys WHERE publish_at < sign_from AND sign_from < sign_until
			AND sign_until < verify_until AND created_at IS NOT NULL ORDER BY kid`))
}

// A person who reads a dashboard must not be able to act as a player, a game server or the director.
func TestOpsViewsShowNoSecret(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	require.Empty(t, d.Rows(`SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'ops'
		AND column_name ~ 'handle|jti|incarnation|sealed_private|cert_digest|boot_id'`))
	require.Empty(t, d.Rows(`SELECT view_name, column_name FROM information_schema.view_column_usage WHERE view_schema = 'ops'
		AND column_name IN ('handle', 'sealed_private', 'netcode_key', 'cert_digest', 'boot_id')`), "not even under another name")
}

func TestOpsEventsNameInstanceAndSession(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.Exec(`INSERT INTO events (region, kind, instance_id, session_id, detail) VALUES ('eu', 'session.closed', 'arena', '7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10', '{"n": 1}')`)
	d.Exec(`INSERT INTO events (kind, actor) VALUES ('key.tainted', 'sql:alice')`)

	require.Equal(t, []string{
		"|key.tainted|sql:alice|||{}|t",
		"eu|session.closed|director|arena|eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10|{\"n\": 1}|t",
	}, d.Rows(`SELECT region, kind, actor, instance, session, detail, at <= now() AND id IS NOT NULL FROM ops.events ORDER BY kind`))
}

func TestOpsAmnestyShowsItsBeginningAndEnd(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	for _, c := range []struct{ name, pulse, steady, want string }{
		{"heard for long", `now()`, `now() - interval '2 hours'`, "f||"},
		{"never heard", `'-infinity'`, `'infinity'`, "t||"},
		{"silent", `now() - interval '50 minutes'`, `now() - interval '2 hours'`, "t|pulse|"},
		{"heard again", `now()`, `now() - interval '20 minutes'`, "t|steady|in 40 minutes"},
	} {
		d.Exec(`UPDATE fleet_clock SET pulse_at = ` + c.pulse + `, steady_since = ` + c.steady)
		require.Equal(t, []string{c.want}, d.Rows(`SELECT amnesty, CASE since WHEN steady_since THEN 'steady' WHEN pulse_at THEN 'pulse' END,
			CASE ends_at WHEN steady_since + interval '1 hour' THEN 'in 40 minutes' END FROM ops.amnesty, fleet_clock`), c.name)
		require.Equal(t, []string{"t"}, d.Rows(`SELECT a.last_pulse IS NOT DISTINCT FROM nullif(f.pulse_at, '-infinity') AND a.lease_ttl = '1 hour' FROM ops.amnesty a, fleet_clock f`))
	}
}

func TestOpsMatchesShowWhatPlaysAndWhoIsAsked(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.matches()
	d.Exec(`UPDATE seats SET state = 'connected', expires_at = NULL WHERE sub = 'fay'`)
	require.Equal(t, []string{"eu|cafe|global|duels|1|playing|t|league|3|3|1|t|t", "global|beef|global|duels|1|proposed|f||1|1|0|t|f"},
		d.Rows(`SELECT region, right(match::text, 4), universe, profile, version, state, session IS NOT NULL, mode, tickets, players, connected,
			decided_at <= now(), deadline IS NULL FROM ops.matches ORDER BY region`))
}

func TestOpsPartitionsShowDaysAhead(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	for _, part := range d.Rows(`SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^(events|seat_history|session_history)_[0-9]'`) {
		d.Exec(`DROP TABLE ` + part)
	}
	d.Exec(`SELECT ensure_day_partitions('events', 7) FROM generate_series(1, 9)`)
	d.Exec(`SELECT ensure_day_partitions('seat_history', 0) FROM generate_series(1, 2)`)
	d.Exec(`INSERT INTO events (kind, at) VALUES ('from afar', now() + interval '1 year')`)
	require.Equal(t, []string{"deployment_history|8|0|7|7|f", "events|8|0|7|7|t", "match_history|8|0|7|7|f", "player_refusals|8|0|7|7|f", "seat_history|1|0|0|0|f",
		"session_history|0||-1||f", "ticket_events|8|0|7|7|f", "ticket_history|8|0|7|7|f"}, d.Rows(`SELECT table_name, days,
		first_day - (now() AT TIME ZONE 'UTC')::date, days_ahead, last_day - first_day, default_bytes > 0 FROM ops.partitions ORDER BY table_name`))
}

func TestOpsOldestSnapshotShowsWhatBlocksVacuum(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	require.Equal(t, []string{"prepared transaction", "replication slot", "transaction"}, d.Rows(`SELECT kind FROM ops.oldest_snapshot ORDER BY kind`))
	transactions := `SELECT holders, age > '0', transactions > 0, oldest LIKE '%forgetful%' FROM ops.oldest_snapshot WHERE kind = 'transaction'`
	require.Equal(t, []string{"0|f|f|"}, d.Rows(transactions))

	// Idle after a write, a transaction holds no snapshot; its own id is what vacuum has to respect.
	config := d.Pool().Config().ConnConfig.Copy()
	config.RuntimeParams["application_name"] = "forgetful"
	idle, err := pgx.ConnectConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = idle.Close(context.Background()) })
	_, err = idle.Exec(context.Background(), `BEGIN; INSERT INTO events (kind) VALUES ('x')`)
	require.NoError(t, err)
	d.Exec(`INSERT INTO events (kind) VALUES ('y')`)
	require.Equal(t, []string{"1|t|t|t"}, d.Rows(transactions))
}

// Postgres 18 lists clients that are logging in to any database, with a snapshot that does not block vacuum.
func TestOpsOldestSnapshotIgnoresClientsThatLogIn(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewMigratedCluster(t, pglocal.Options{TCPPort: pglocal.AnyPort})
	d := storetest.OnDatabase(t, cluster.URL("postgres"))
	// A client connects and leaves the server waiting for the password.
	config := must.Get(pgconn.ParseConfig(cluster.TCPURL("postgres")))(t)
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	conn := must.Get(net.Dial(network, address))(t)
	t.Cleanup(func() { _ = conn.Close() })
	frontend := pgproto3.NewFrontend(conn, conn)
	frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": config.User, "database": config.Database}})
	require.NoError(t, frontend.Flush())
	asked := must.Get(frontend.Receive())(t)
	require.IsType(t, &pgproto3.AuthenticationSASL{}, asked)
	require.Equal(t, []string{"0|"}, d.Rows(`SELECT holders, oldest FROM ops.oldest_snapshot WHERE kind = 'transaction'`))
}

// An operator must be able to look up the meaning of each column in the database, with \d+.
func TestOpsViewsAndColumnsAreCommented(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	require.Empty(t, d.Rows(`SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum >= 0
		WHERE c.relnamespace = 'ops'::regnamespace AND coalesce(col_description(c.oid, a.attnum), '') = ''`))
	require.Empty(t, d.Rows(`SELECT relname FROM pg_class WHERE relnamespace = 'ops'::regnamespace AND coalesce(obj_description(oid, 'pg_class'), '') = ''`))
	require.Empty(t, d.Rows(`SELECT proname FROM pg_proc WHERE pronamespace = 'ops'::regnamespace AND coalesce(obj_description(oid, 'pg_proc'), '') = ''`))
}
