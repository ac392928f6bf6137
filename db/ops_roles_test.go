package db_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

const (
	notAllowed = "42501"
	readOnly   = "25006"
)

func TestOpsRoleReadsEveryView(t *testing.T) {
	t.Parallel()
	d := newFleetAtWork(t)
	reader := d.roles().reader
	views := d.Rows(`SELECT relname FROM pg_class WHERE relnamespace = 'ops'::regnamespace AND relkind = 'v'`)
	require.Greater(t, len(views), 15)
	for _, view := range views {
		mine, err := storetest.RowsOf(reader, `SELECT count(*) FROM ops.`+view)
		require.NoError(t, err, view)
		if view != "oldest_snapshot" && view != "event_feed" { // what these show depends on the moment
			require.Equal(t, d.Rows(`SELECT count(*) FROM ops.`+view), mine, view)
		}
	}
}

// Postgres shows a role only the transactions of its own logins. Pins a dashboard that shows no old snapshot while
// another login's transaction blocks vacuum.
func TestOpsRoleSeesTheSnapshotsOfOthers(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	reader := d.roles().reader
	d.Hold(`INSERT INTO events (kind) VALUES ('forgotten')`)
	rows, err := storetest.RowsOf(reader, `SELECT holders, age > '0' FROM ops.oldest_snapshot WHERE kind = 'transaction'`)
	require.NoError(t, err)
	require.Equal(t, []string{"1|t"}, rows)
}

func TestOpsRoleHasNoOtherRights(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	roles := d.roles()
	for _, role := range []string{roles.reader.Config().User, roles.operator.Config().User} {
		require.Empty(t, d.Rows(`SELECT relname FROM pg_class WHERE relnamespace NOT IN ('ops'::regnamespace, 'pg_catalog'::regnamespace, 'information_schema'::regnamespace)
			AND relkind IN ('r', 'p', 'v', 'm', 'f') AND has_table_privilege($1, oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')`, role))
		require.Equal(t, []string{"f|f"}, d.Rows(`SELECT has_schema_privilege($1, 'ops', 'CREATE'), has_schema_privilege($1, 'public', 'CREATE')`, role))
	}
	require.Equal(t, []string{"at", "fleet_at", "keys_at", "lease_horizon", "realtime_steady_since", "replica_horizon", "replica_horizon", "seats_at", "sessions_at", "snapshot_holders"}, d.Rows(`SELECT proname FROM pg_proc
		WHERE pronamespace = 'ops'::regnamespace AND has_function_privilege($1, oid, 'EXECUTE') ORDER BY 1`, roles.reader.Config().User))
	for _, sql := range []string{
		`SELECT sealed_private FROM signing_keys`,
		`SELECT ops.drain('arena')`,
		`SELECT ops.undrain('arena')`,
		`SELECT ops.erase_player('a', 'x')`,
		`SELECT ops.set_draining('arena', true)`,
		`SELECT ops.drain_host('a')`,
		`SELECT ops.undrain_host('a')`,
		`SELECT ops.drain_label('a=b')`,
		`SELECT ops.undrain_label('a=b')`,
		`SELECT ops.drain_region('eu')`,
		`SELECT ops.undrain_region('eu')`,
		`SELECT ops.preview_evacuation('eu')`,
		`SELECT ops.evacuate('eu')`,
		`SELECT ops.set_group_draining('', 'host', 'a', true)`,
		`SELECT ops.drain_agent('a')`,
		`SELECT ops.undrain_agent('a')`,
		`SELECT ops.set_agent_draining('a', true)`,
		`SELECT ops.close_session('eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10', 'x')`,
		`SELECT ops.taint_key('a')`,
		`SELECT ops.stop_deployment(gen_random_uuid(), 'x')`,
		`SELECT ops.scale_pool('eu', 'a', 'b', 1, 1)`,
		`SELECT ops.set_beacon('eu', 'https://a')`,
		`SELECT ops.set_cell('us', 'https://a', '{us}', 'x')`,
		`SELECT ops.remove_cell('us', 'x')`,
		`SELECT ops.pause_pool('eu', 'a', 'b')`,
		`SELECT ops.resume_pool('eu', 'a', 'b')`,
		`SELECT ops.create_enrolment('eu', 'a', '{}', 1)`,
		`SELECT ops.revoke_enrolment('eu', 'a')`,
		`SELECT ops.revoke_server('a')`,
		`SELECT ops.pause_profile('global', 'a')`,
		`SELECT ops.resume_profile('global', 'a')`,
		`SELECT ops.create_webhook('a', 'https://a.example', '{*}')`,
		`SELECT ops.pause_webhook('a')`,
		`SELECT ops.resume_webhook('a')`,
		`SELECT ops.delete_webhook('a')`,
		`SELECT ops.replay_webhook('a')`,
		`SELECT ops.test_webhook('a')`,
		`SELECT ops.record_events('seat', true)`,
		`SELECT ops.set_valve('a', 1)`,
		`SELECT ops.open_valve('a')`,
		`SELECT ops.close_valve('a')`,
		`SELECT ops.delete_valve('a')`,
		`SELECT ops.admit_player('a', 'b', 'x')`,
	} {
		_, err := roles.reader.Exec(context.Background(), sql)
		refused(t, notAllowed, err)
	}
}

// The role can turn off its default of read-only transactions: the missing rights must prevent writes.
func TestOpsRoleCannotWrite(t *testing.T) {
	t.Parallel()
	reader, ctx := newOpsDB(t).roles().reader, context.Background()
	closing := `SELECT close_sessions('eu', '{7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10}', 'cheating')`
	_, err := reader.Exec(ctx, closing)
	refused(t, readOnly, err)
	_, err = reader.Exec(ctx, `SET default_transaction_read_only = off`)
	require.NoError(t, err)
	for _, sql := range []string{
		closing, `DELETE FROM ops.events`, `INSERT INTO ops.events (kind) VALUES ('x')`, `UPDATE instances SET status = 'gone'`,
		`CREATE TABLE ops.mine (x int)`, `CREATE TABLE public.mine (x int)`,
	} {
		_, err := reader.Exec(ctx, sql)
		refused(t, notAllowed, err)
	}
}

func TestTransactionsOfOpsRolesEndSoon(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	roles := d.roles()
	limits := `SELECT current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'), current_setting('default_transaction_read_only')`
	mine, err := storetest.RowsOf(roles.reader, limits)
	require.NoError(t, err)
	require.Equal(t, []string{"5s|1s|10s|on"}, mine)
	mine, err = storetest.RowsOf(roles.operator, limits)
	require.NoError(t, err)
	require.Equal(t, []string{"5s|1s|10s|off"}, mine)
}

func TestEventsNameTheOperator(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel")
	s := d.session("eu", "arena", "duel", "ann")
	d.key("a", "-1 day", "1 day")
	operator := d.roles().operator
	for _, sql := range []string{`SELECT ops.drain('arena')`, `SELECT ops.undrain('arena')`, `SELECT ops.close_session('` + s + `', 'cheating')`, `SELECT ops.taint_key('a')`} {
		_, err := operator.Exec(context.Background(), sql)
		require.NoError(t, err, sql)
	}
	me := "sql:" + operator.Config().User
	require.Equal(t, []string{"instance.drained|" + me, "instance.undrained|" + me, "session.closed|" + me, "key.tainted|" + me},
		d.Rows(`SELECT kind, actor FROM ops.events ORDER BY at`))

	for _, sql := range []string{`UPDATE instances SET status = 'ready'`, `DELETE FROM sessions`, `SELECT sealed_private FROM signing_keys`, `SELECT ops.set_draining('arena', true)`} {
		_, err := operator.Exec(context.Background(), sql)
		refused(t, notAllowed, err)
	}
	_, err := operator.Exec(context.Background(), `SELECT instance FROM ops.fleet`)
	require.NoError(t, err)
}

// Pins a function that uses tables in the caller's temporary schema, and so runs the caller's triggers with its owner's
// rights.
func TestOpsFunctionsIgnoreTheCallersTemporarySchema(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel")
	operator := d.roles().operator
	_, err := operator.Exec(context.Background(), `CREATE TEMP TABLE instance_directory (instance_id text, region text);
		CREATE TEMP TABLE instances (region text, id text, status text); CREATE TEMP TABLE fleet_clock (x int); SET search_path = pg_temp, ops, public`)
	require.NoError(t, err)
	rows, err := storetest.RowsOf(operator, `SELECT ops.drain('arena'), ops.lease_horizon() > '2020-01-01'`)
	require.NoError(t, err)
	require.Equal(t, []string{"t|t"}, rows)
	require.Equal(t, []string{"draining"}, d.Rows(`SELECT status FROM ops.fleet`))
	require.Empty(t, d.Rows(`SELECT proname FROM pg_proc WHERE pronamespace = 'ops'::regnamespace AND prosecdef
		AND proconfig IS DISTINCT FROM ARRAY['search_path=' || current_schema() || ', pg_temp']`))
}
