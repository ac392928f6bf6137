package db_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

const (
	noDataFound  = "P0002"
	wrongState   = "55000"
	invalidValue = "22023"
	lockTimeout  = "55P03"
)

func TestOpsDrainStopsPlacementAndNamesTheOperator(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel", "raid")
	state := `SELECT i.status, m.mode, m.bucket FROM instances i JOIN instance_modes m ON m.instance_id = i.id ORDER BY m.mode`

	require.Equal(t, []string{"t"}, d.Rows(`SELECT ops.drain('arena')`))
	require.Equal(t, []string{"f"}, d.Rows(`SELECT ops.drain('arena')`))
	require.Equal(t, []string{"draining|duel|99", "draining|raid|99"}, d.Rows(state))
	require.Equal(t, []string{"t"}, d.Rows(`SELECT ops.undrain('arena')`))
	require.Equal(t, []string{"f"}, d.Rows(`SELECT ops.undrain('arena')`))
	require.Equal(t, []string{"ready|duel|0", "ready|raid|0"}, d.Rows(state))
	require.Equal(t, []string{"eu|instance.drained|t|arena", "eu|instance.undrained|t|arena"},
		d.Rows(`SELECT region, kind, actor = 'sql:' || session_user, instance FROM ops.events ORDER BY at`))
}

func TestOpsDrainRefusesUnknownAndEndedInstances(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel")
	d.Exec(`SELECT end_instance('eu', 'arena', 'deregistered')`)
	require.Equal(t, "instance 'arena' is gone", refused(t, wrongState, d.fail(`SELECT ops.undrain('arena')`)))
	for _, f := range []string{"drain", "undrain"} {
		require.Equal(t, "there is no instance 'nobody'", refused(t, noDataFound, d.fail(`SELECT ops.`+f+`('nobody')`)))
		require.Equal(t, "there is no instance NULL", refused(t, noDataFound, d.fail(`SELECT ops.`+f+`(NULL)`)))
	}
	require.Empty(t, d.Rows(`SELECT kind FROM ops.events WHERE kind ~ 'drain'`))
}

// The status must be read under the lock: an instance that ended meanwhile must not become a draining one.
func TestOpsDrainChecksUnderTheLock(t *testing.T) {
	t.Parallel()
	d, ctx := newOpsDB(t), context.Background()
	d.instance("eu", "arena", "1 minute", "duel")
	ending, err := d.Pool().Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = ending.Rollback(ctx) }()
	_, err = ending.Exec(ctx, `SELECT end_instance('eu', 'arena', 'deregistered')`)
	require.NoError(t, err)

	drained := make(chan error, 1)
	go func() {
		_, err := d.Pool().Exec(ctx, `SELECT ops.drain('arena')`)
		drained <- err
	}()
	d.AwaitBlocked(1)
	require.NoError(t, ending.Commit(ctx))
	require.NoError(t, <-drained)
	require.Equal(t, []string{"gone"}, d.Rows(`SELECT status FROM ops.fleet`))
}

func TestOpsCloseSessionFreesTheReservation(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel")
	closed, open := d.session("eu", "arena", "duel", "ann", "bob"), d.session("eu", "arena", "duel", "cid")

	d.Exec(`SELECT ops.close_session($1, 'cheating')`, closed)
	require.Equal(t, []string{open + "|1"}, d.Rows(`SELECT session, players FROM ops.sessions`))
	require.Equal(t, []string{closed + "|2|cheating"}, d.Rows(`SELECT session, players, reason FROM ops.session_lifetimes`))
	require.Equal(t, []string{"session cheating|2"}, d.Rows(`SELECT reason, seats FROM ops.seat_outcomes`))
	require.Equal(t, []string{"session.closed|t|arena|" + closed + `|{"reason": "cheating", "players": 2}`},
		d.Rows(`SELECT kind, actor = 'sql:' || session_user, instance, session, detail FROM ops.events`))
	require.Equal(t, invariants, d.Rows(`SELECT name, violations FROM ops.invariants ORDER BY name`))
}

func TestOpsCloseSessionRefusesSessionsThatAreNotOpen(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel")
	s := d.session("eu", "arena", "duel")
	for _, id := range []string{"", "eu", s[3:], s + "0", "eu:" + s[3:], " " + s, s + "\n", "eu." + s, "'; DROP TABLE seats"} {
		require.Contains(t, refused(t, invalidValue, d.fail(`SELECT ops.close_session($1, 'x')`, id)), "is no session id", id)
	}
	require.Equal(t, "NULL is no session id", refused(t, invalidValue, d.fail(`SELECT ops.close_session(NULL, 'x')`)))
	for _, reason := range []string{`NULL`, `''`, `' '`} {
		require.Equal(t, "say why the session is closed", refused(t, invalidValue, d.fail(`SELECT ops.close_session($1, `+reason+`)`, s)))
	}
	require.Contains(t, refused(t, noDataFound, d.fail(`SELECT ops.close_session($1, 'x')`, "us"+s[2:])), "there is no session us.")
	d.Exec(`SELECT ops.close_session($1, 'cheating')`, s)
	require.Regexp(t, "^session "+s+" was closed at .* \\(cheating\\)$", refused(t, wrongState, d.fail(`SELECT ops.close_session($1, 'x')`, s)))
	require.Equal(t, []string{"1"}, d.Rows(`SELECT count(*) FROM ops.events`))
}

func TestOpsTaintKeyHandsTheTurnToTheNextKey(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.key("a", "-1 day", "1 day")
	d.key("b", "1 day", "2 days")
	d.Exec(`UPDATE signing_keys SET publish_at = now() - interval '2 hours' WHERE kid = 'b'`)
	d.key("c", "2 days", "3 days")
	before := d.Rows(`SELECT to_jsonb(k) - '{tainted_at,verify_until,since}'::text[] FROM signing_keys k WHERE kid = 'a'`)

	require.Equal(t, []string{"t"}, d.Rows(`SELECT ops.taint_key('a')`))
	require.Equal(t, []string{"a|tainted", "b|signing", "c|next"}, d.Rows(`SELECT kid, state FROM ops.keys ORDER BY kid`))
	require.Equal(t, before, d.Rows(`SELECT to_jsonb(k) - '{tainted_at,verify_until,since}'::text[] FROM signing_keys k WHERE kid = 'a'`))
	require.Equal(t, []string{"t|t"}, d.Rows(`SELECT a.verify_until = a.tainted_at AND a.tainted_at <= clock_timestamp(), b.sign_from = a.tainted_at
		FROM ops.keys a, ops.keys b WHERE a.kid = 'a' AND b.kid = 'b'`), "not verified from that moment on, and no sign in the name of the past")
	require.Equal(t, []string{"|key.tainted|t|a|b|t"}, d.Rows(`SELECT region, kind, actor = 'sql:' || session_user, detail ->> 'kid', detail ->> 'next',
		(detail ->> 'next_signs_from')::timestamptz = (SELECT sign_from FROM ops.keys WHERE kid = 'b') FROM ops.events`))
	require.Equal(t, invariants, d.Rows(`SELECT name, violations FROM ops.invariants ORDER BY name`))
}

// Pins a key that signs before every verifier can have fetched it: game servers would refuse its tokens.
func TestOpsTaintKeyLetsNoKeySignBeforeVerifiersKnowIt(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.key("a", "-1 day", "1 day")
	d.key("b", "1 day", "2 days")
	d.Exec(`UPDATE signing_keys SET publish_at = now() - interval '20 minutes' WHERE kid = 'b'`)
	d.key("c", "2 days", "3 days")
	d.Exec(`UPDATE signing_keys SET publish_at = now() - interval '10 minutes' WHERE kid = 'c'`)

	heirs := `SELECT kid, state, sign_from = publish_at + interval '1 hour' FROM ops.keys WHERE kid <> 'a' ORDER BY kid`
	d.Exec(`SELECT ops.taint_key('a')`)
	require.Equal(t, []string{"b|next|t", "c|next|f"}, d.Rows(heirs))
	d.Exec(`SELECT ops.taint_key('b')`) // the heir as well, before its turn
	require.Equal(t, []string{"b|tainted|t", "c|next|t"}, d.Rows(heirs))
}

func TestOpsTaintKeyLeavesTheTurnAloneWhenAnotherKeySigns(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.key("expired", "-9 days", "-8 days")
	d.key("retiring", "-2 days", "-1 minute")
	d.key("signing", "-1 minute", "1 day")
	d.key("unpublished", "1 day", "2 days")
	d.key("later", "2 days", "3 days")
	others := `SELECT to_jsonb(k) FROM signing_keys k WHERE kid IN ('signing', 'later') ORDER BY kid`
	before := d.Rows(others)
	for _, kid := range []string{"expired", "retiring", "unpublished"} {
		d.Exec(`SELECT ops.taint_key($1)`, kid)
	}
	require.Equal(t, before, d.Rows(others))
	require.Equal(t, []string{"expired|t|f", "retiring|t|f", "unpublished|f|t"}, d.Rows(`SELECT kid, verify_until <= tainted_at, verify_until = publish_at
		FROM ops.keys WHERE state = 'tainted' ORDER BY kid`), "verified not a moment longer, and no row that contradicts itself")
}

func TestErrorsAndNoticesOfOpsTaintKey(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.key("only", "-1 day", "1 day")
	said := d.notices()
	require.Equal(t, "there is no key 'nobody'", refused(t, noDataFound, d.fail(`SELECT ops.taint_key('nobody')`)))
	require.Equal(t, "there is no key NULL", refused(t, noDataFound, d.fail(`SELECT ops.taint_key(NULL)`)))

	_, err := said.conn.Exec(context.Background(), `SELECT ops.taint_key('only')`)
	require.NoError(t, err)
	rows, err := storetest.RowsOf(said.conn, `SELECT ops.taint_key('only')`)
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, rows)
	require.Len(t, *said.notices, 2)
	require.Equal(t, `WARNING: no key is left to sign with: make one with "director keys rotate"`, (*said.notices)[0])
	require.Contains(t, (*said.notices)[1], "NOTICE: key only has been tainted since")
	require.Equal(t, []string{"key.tainted"}, d.Rows(`SELECT kind FROM ops.events`))
}

// Rotation holds this lock; a taint at the same time could leave two signing keys, or none.
func TestOpsTaintKeyWaitsForRotation(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.key("a", "-1 day", "1 day")
	d.Hold(`SELECT pg_advisory_xact_lock(hashtext('director.signing_keys'))`)
	refused(t, lockTimeout, d.fail(`SELECT set_config('lock_timeout', '1ms', true), ops.taint_key('a')`))
}

// fail runs a statement that should be refused.
func (d *opsDB) fail(sql string, args ...any) error {
	_, err := d.Pool().Exec(context.Background(), sql, args...)
	return err
}

type listener struct {
	conn    *pgx.Conn
	notices *[]string
}

// notices is a connection, and the notices that the server sends on it.
func (d *opsDB) notices() listener {
	d.t.Helper()
	var said []string
	config := d.Pool().Config().ConnConfig.Copy()
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { said = append(said, n.Severity+": "+n.Message) }
	conn := must.Get(pgx.ConnectConfig(context.Background(), config))(d.t)
	d.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return listener{conn, &said}
}
