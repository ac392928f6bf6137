package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/internal/base/timetext"
	"github.com/lattice-director/director/migrations"
)

// The checks of Postgres itself. The limits are those of docs/operators.md, "Watch".

const oldestPostgres = 15

// rows returns the rows of a query.
func rows[T any](ctx context.Context, d Doctor, sql string, args ...any) ([]T, error) {
	found, err := d.Store.Pool().Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByName[T])
}

// one returns the only row of a query.
func one[T any](ctx context.Context, d Doctor, sql string, args ...any) (T, error) {
	found, err := d.Store.Pool().Query(ctx, sql, args...)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[T])
}

// since formats seconds for people.
func since(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d > time.Minute {
		return timetext.Brief(d.Round(time.Second))
	}
	return timetext.Brief(d.Round(time.Millisecond))
}

func (d Doctor) checkVersion(ctx context.Context) (Finding, error) {
	v, err := one[struct {
		Name  string
		Major int
	}](ctx, d, "SELECT current_setting('server_version') AS name, current_setting('server_version_num')::int / 10000 AS major")
	if err != nil || v.Major >= oldestPostgres {
		return good("version %s", v.Name), err
	}
	return failure("upgrade Postgres", "version %s, and %d or newer is needed", v.Name, oldestPostgres), nil
}

func (d Doctor) checkSchema(ctx context.Context) (Finding, error) {
	version, err := d.Store.SchemaVersion(ctx)
	latest := migrations.Latest()
	switch {
	case err != nil:
		return Finding{}, err
	case version == 0:
		return failure("run 'director migrate up', or correct the search_path of the role or of DATABASE_URL",
			"the director's tables are not there; this build needs version %d", latest), nil
	case version < latest:
		return failure("director migrate up", "at version %d, and this build needs %d", version, latest), nil
	case version > latest:
		return warning("use the director of the newer release", "at version %d, newer than this build's %d: supported for one release", version, latest), nil
	}
	return good("at version %d, as this build needs", version), nil
}

// checkPooler detects a pooler, because it reports a made-up process id for the connection, and tests whether it breaks
// prepared statements.
func (d Doctor) checkPooler(ctx context.Context) (Finding, error) {
	conn, err := d.Store.Pool().Acquire(ctx)
	if err != nil {
		return Finding{}, err
	}
	defer conn.Release()
	var backend uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&backend); err != nil {
		return Finding{}, err
	}
	if backend == conn.Conn().PgConn().PID() {
		if d.Pooler == "pgbouncer" {
			return warning("unset DIRECTOR_POOLER: it makes statements slower", "none, but DIRECTOR_POOLER is pgbouncer"), nil
		}
		return good("none: a direct connection to Postgres"), nil
	}
	if d.Pooler != "pgbouncer" {
		if err := d.tryPrepared(ctx, conn.Conn()); err != nil {
			return failure("set DIRECTOR_POOLER=pgbouncer on every replica and worker, or max_prepared_statements in PgBouncer 1.21 or newer",
				"a pooler that loses prepared statements: %s", oneLine(err)), nil
		}
	}
	if !d.Direct {
		return warning("set DATABASE_URL_DIRECT to Postgres itself, for migrations and for replicas that serve Open Match",
			"a pooler, and no direct connection"), nil
	}
	return good("a working one, which DATABASE_URL_DIRECT bypasses"), nil
}

// tryPrepared prepares a statement and runs it while another transaction holds the server connection it was prepared on.
func (d Doctor) tryPrepared(ctx context.Context, conn *pgx.Conn) error {
	const name = "director_doctor"
	if _, err := conn.Prepare(ctx, name, "SELECT 1"); err != nil {
		return lostStatement(err)
	}
	other, err := d.Store.Pool().Begin(ctx)
	if err != nil {
		return lostStatement(err)
	}
	defer func() { _ = other.Rollback(ctx) }()
	if _, err := other.Exec(ctx, "SELECT 1", pgx.QueryExecModeSimpleProtocol); err != nil {
		return lostStatement(err)
	}
	_, err = conn.Exec(ctx, name)
	return lostStatement(err)
}

// lostStatement returns err only if a pooler causes it: the statement does not exist, or exists already.
func lostStatement(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "26000" || pg.Code == "42P05") {
		return err
	}
	return nil
}

// checkRestored checks for a dump of another server, whose transaction ids can be in this server's future.
func (d Doctor) checkRestored(ctx context.Context) (Finding, error) {
	restored, err := d.Store.RestoredFromDump(ctx)
	if err != nil || !restored {
		return good("none, or one that was migrated since"), err
	}
	return failure("director migrate up", "rows have transaction ids of another server: the feeds of events and of settled tickets are wrong"), nil
}

func (d Doctor) checkConnections(ctx context.Context) (Finding, error) {
	v, err := one[struct{ Used, Most int }](ctx, d, `SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
		current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most`)
	if err != nil {
		return Finding{}, err
	}
	return judgeConnections(v.Used, v.Most), nil
}

func judgeConnections(used, most int) Finding {
	const do = "raise max_connections, or lower DIRECTOR_MAX_CONNS; SELECT application_name, count(*) FROM pg_stat_activity GROUP BY 1 shows their programs"
	says := fmt.Sprintf("%d of %d in use", used, most)
	switch {
	case used*100 >= most*95:
		return failure(do, "%s", says)
	case used*100 >= most*80:
		return warning(do, "%s", says)
	}
	return good("%s", says)
}

func (d Doctor) checkLocks(ctx context.Context) (Finding, error) {
	v, err := one[struct {
		Waiting int
		Longest float64
		Blocker *string
	}](ctx, d, `WITH w AS (SELECT pid, extract(epoch FROM clock_timestamp() - query_start)::float8 AS seconds FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database())
		SELECT count(*) AS waiting, coalesce(max(seconds), 0) AS longest,
			(SELECT format('pid %s, %s, %s', a.pid, a.application_name, a.state) FROM pg_stat_activity a
			 WHERE a.pid = ANY ((SELECT pg_blocking_pids(pid) FROM w ORDER BY seconds DESC LIMIT 1)::int[]) LIMIT 1) AS blocker
		FROM w`)
	if err != nil || v.Longest < 2 {
		return good("no statement has waited for a lock for 2s"), err
	}
	return failure("SELECT pg_terminate_backend(pid) for the blocking one, unless it is a batch of the director", "%d wait for locks, the longest for %s, blocked by %s",
		v.Waiting, since(v.Longest), orEmpty(v.Blocker)), nil
}

// snapshotLine is a row of ops.oldest_snapshot.
type snapshotLine struct {
	Kind         string
	Holders      int
	Age          float64 // seconds
	Transactions int64
	Oldest       *string
}

func (d Doctor) checkSnapshots(ctx context.Context) (Finding, error) {
	held, err := rows[snapshotLine](ctx, d, `SELECT kind, holders, extract(epoch FROM age)::float8 AS age, transactions::bigint AS transactions,
		oldest FROM ops.oldest_snapshot ORDER BY transactions DESC`)
	if err != nil {
		return Finding{}, err
	}
	return judgeSnapshots(held), nil
}

// judgeSnapshots measures a replication slot, which has no age, in transactions: a million takes minutes on a busy server.
func judgeSnapshots(held []snapshotLine) Finding {
	for _, h := range held {
		says := fmt.Sprintf("%s prevents vacuum: %v, for %s and %d transactions", h.Kind, orEmpty(h.Oldest), since(h.Age), h.Transactions)
		switch {
		case h.Kind == "replication slot" && h.Transactions > 1_000_000:
			return failure("restart its reader, or SELECT pg_drop_replication_slot(name)", "%s", says)
		case h.Kind == "prepared transaction" && h.Age > 60:
			return failure("COMMIT PREPARED or ROLLBACK PREPARED it", "%s", says)
		case h.Age > 60:
			return failure("SELECT pg_terminate_backend(pid)", "%s", says)
		}
	}
	return good("none older than a minute")
}

// checkWriters checks for an old writing transaction. In any database of the server it delays the event feed and the
// notifications about tickets.
func (d Doctor) checkWriters(ctx context.Context) (Finding, error) {
	v, err := one[struct {
		Oldest float64
		Who    *string
		Sees   bool
	}](ctx, d, `SELECT coalesce(max(extract(epoch FROM now() - xact_start)), 0)::float8 AS oldest,
			(array_agg(format('pid %s, %s, database %s', pid, usename, datname) ORDER BY xact_start))[1] AS who,
			pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees
		FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)
	if err != nil {
		return Finding{}, err
	}
	return judgeWriters(v.Oldest, orEmpty(v.Who), v.Sees), nil
}

func judgeWriters(oldest float64, who string, sees bool) Finding {
	says := fmt.Sprintf("a transaction has been writing for %s: %s", since(oldest), who)
	switch {
	case oldest > 60:
		return failure("SELECT pg_terminate_backend(pid)", "%s", says)
	case oldest > 10:
		return warning("wait, and if it does not end: SELECT pg_terminate_backend(pid)", "%s", says)
	case !sees:
		return warning("GRANT pg_read_all_stats to this role and to the owner of schema ops", "other roles' transactions cannot be seen")
	}
	return good("none for longer than 10s")
}

func (d Doctor) checkBloat(ctx context.Context) (Finding, error) {
	v, err := rows[struct {
		Name       string
		Dead, Live int64
	}](ctx, d, `SELECT relname AS name, n_dead_tup AS dead, n_live_tup AS live FROM pg_stat_user_tables
		WHERE n_dead_tup > 20000 AND n_dead_tup > 2 * n_live_tup ORDER BY n_dead_tup DESC LIMIT 1`)
	if err != nil || len(v) == 0 {
		return good("no table is mostly dead rows"), err
	}
	return warning("VACUUM "+v[0].Name+"; if that does not help, look for an old snapshot", "%s has %d dead rows and %d live ones",
		v[0].Name, v[0].Dead, v[0].Live), nil
}

// slotLine is a replication slot and how much WAL it keeps.
type slotLine struct {
	Name   string
	Active bool
	Status string
	Bytes  int64
}

func (d Doctor) checkReplication(ctx context.Context) (Finding, error) {
	slots, err := rows[slotLine](ctx, d, `SELECT slot_name::text AS name, active, coalesce(wal_status, '') AS status,
		coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn), 0)::bigint AS bytes
		FROM pg_replication_slots ORDER BY 4 DESC`)
	if err != nil {
		return Finding{}, err
	}
	return judgeSlots(slots), nil
}

func judgeSlots(slots []slotLine) Finding {
	const gib = 1 << 30
	for _, s := range slots {
		says := fmt.Sprintf("slot %s (active: %t) keeps %.1f GiB of WAL", s.Name, s.Active, float64(s.Bytes)/gib)
		switch {
		case s.Status == "lost":
			return warning("drop the slot and rebuild its standby", "slot %s has lost WAL that its standby needs", s.Name)
		case s.Bytes > 10*gib:
			return failure("restart its reader, or SELECT pg_drop_replication_slot(name): the disk fills up", "%s", says)
		case s.Bytes > gib && !s.Active:
			return warning("restart its reader, or SELECT pg_drop_replication_slot(name)", "%s", says)
		}
	}
	return good("%d slots, none retains much WAL", len(slots))
}

// checkClock compares only this machine's clock. Replicas report theirs as director_clock_offset_seconds.
func (d Doctor) checkClock(ctx context.Context) (Finding, error) {
	if err := d.Store.ReadClock(ctx); err != nil {
		return Finding{}, err
	}
	r, _ := d.Store.ClockReading()
	return judgeClock(r.Offset), nil
}

func judgeClock(offset time.Duration) Finding {
	const do = "check NTP, on this machine and on the database's host"
	says := fmt.Sprintf("this machine is %s off the database's clock", timetext.Brief(offset.Abs().Round(time.Millisecond)))
	switch {
	case offset.Abs() > 30*time.Second:
		return failure(do, "%s", says)
	case offset.Abs() > 5*time.Second:
		return warning(do, "%s", says)
	}
	return good("%s", says)
}
