package storetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// DB is a database of a test's own and a store on it, with what tests do to both in SQL. The bundles of packages embed
// it, or hold it as their store.
type DB struct {
	*db.Store

	T   testing.TB
	URL string
}

// New makes a database, and opens a store on it as [Open] does.
func New(t testing.TB, changes ...func(*db.Config)) *DB {
	t.Helper()
	return OnDatabase(t, dbtest.New(t), changes...)
}

// OnDatabase opens a store on a database that the test has made.
func OnDatabase(t testing.TB, url string, changes ...func(*db.Config)) *DB {
	t.Helper()
	d := &DB{T: t, URL: url}
	d.Store = d.Replica(changes...)
	return d
}

// Replica opens another store on the same database, as another pod would.
func (d *DB) Replica(changes ...func(*db.Config)) *db.Store {
	d.T.Helper()
	return Open(d.T, d.URL, changes...)
}

// Exec runs a statement, and returns how many rows it affected.
func (d *DB) Exec(sql string, args ...any) (rows int64) {
	d.T.Helper()
	tag, err := d.Pool().Exec(d.T.Context(), sql, args...)
	require.NoError(d.T, err, sql)
	return tag.RowsAffected()
}

// One returns the only value that a query reads.
func One[V any](d *DB, sql string, args ...any) (v V) {
	d.T.Helper()
	require.NoError(d.T, d.Pool().QueryRow(d.T.Context(), sql, args...).Scan(&v), sql)
	return v
}

// Values returns the values of a query's only column.
func Values[V any](d *DB, sql string, args ...any) []V {
	d.T.Helper()
	return collectRows(d, pgx.RowTo[V], sql, args)
}

// Records returns the rows of a query, as structs whose fields are its columns in order.
func Records[V any](d *DB, sql string, args ...any) []V {
	d.T.Helper()
	return collectRows(d, pgx.RowToStructByPos[V], sql, args)
}

func collectRows[V any](d *DB, toValue pgx.RowToFunc[V], sql string, args []any) []V {
	d.T.Helper()
	rows, err := d.Pool().Query(d.T.Context(), sql, args...)
	require.NoError(d.T, err, sql)
	all, err := pgx.CollectRows(rows, toValue)
	require.NoError(d.T, err, sql)
	return all
}

// Count returns the only value that a query reads, which is a number.
func (d *DB) Count(sql string, args ...any) int {
	d.T.Helper()
	return One[int](d, sql, args...)
}

// Eventually waits until a query reads a number, for at most a minute.
func (d *DB) Eventually(want int, sql string, args ...any) {
	d.T.Helper()
	awaitValue(d, want, sql, args)
}

// Await waits until a query reads true, for at most a minute.
func (d *DB) Await(condition string, args ...any) {
	d.T.Helper()
	awaitValue(d, true, condition, args)
}

// awaitValue waits until a query reads a value. A query that fails is tried again, since the test may have stopped the
// database.
func awaitValue[T comparable](d *DB, want T, sql string, args []any) {
	d.T.Helper()
	ctx, cancel := context.WithTimeout(d.T.Context(), time.Minute) // also on a machine that runs all tests at once
	defer cancel()
	for {
		var got T
		err := d.Pool().QueryRow(ctx, sql, args...).Scan(&got)
		if err == nil && got == want {
			return
		}
		if !wait.For(ctx, 5*time.Millisecond) {
			require.Failf(d.T, "not within a minute", "%s: want %v, last read %v, error %v", sql, want, got, err)
		}
	}
}

// AwaitBlocked waits until at least so many connections of the database wait for locks of others.
func (d *DB) AwaitBlocked(connections int) {
	d.T.Helper()
	d.Await(`SELECT count(*) >= $1 FROM pg_stat_activity
		WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'`, connections)
}

// Hold runs a statement in a transaction, which keeps its locks until release is called or the test ends.
func (d *DB) Hold(sql string, args ...any) (release func()) {
	d.T.Helper()
	tx, err := d.Pool().Begin(d.T.Context())
	require.NoError(d.T, err)
	// The second call returns an error, which is of no interest.
	release = func() { _ = tx.Rollback(context.WithoutCancel(d.T.Context())) }
	d.T.Cleanup(release)
	_, err = tx.Exec(d.T.Context(), sql, args...)
	require.NoError(d.T, err, sql)
	return release
}

// RequireInvariants asserts that no invariant of ops.invariants is violated. A cleanup may call it.
func (d *DB) RequireInvariants() {
	d.T.Helper()
	// The test's own context ends before its cleanups.
	rows, err := d.Pool().Query(context.WithoutCancel(d.T.Context()),
		"SELECT name || ': ' || violations FROM ops.invariants WHERE violations > 0")
	require.NoError(d.T, err)
	violated, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(d.T, err)
	require.Empty(d.T, violated)
}

// EndAmnesty ends the amnesty of a new database, during which no lease expires, as an hour of heartbeats would.
func (d *DB) EndAmnesty() {
	d.T.Helper()
	d.Exec("UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour'")
}

// Rows returns the rows of a query, a text for each: the row's values as psql writes them, with | between them.
func (d *DB) Rows(sql string, args ...any) []string {
	d.T.Helper()
	conn := must.Get(d.Pool().Acquire(d.T.Context()))(d.T)
	defer conn.Release()
	rows, err := RowsOf(conn.Conn(), sql, args...)
	require.NoError(d.T, err, sql)
	return rows
}

// RowsOf returns the rows of a query, as [DB.Rows] does, on a connection that the test has made.
func RowsOf(conn *pgx.Conn, sql string, args ...any) ([]string, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = fmt.Append(nil, a)
	}
	// Without formats of parameters and results, all values are texts.
	result := conn.PgConn().ExecParams(context.Background(), sql, values, nil, nil, nil).Read()
	rows := make([]string, len(result.Rows))
	for i, r := range result.Rows {
		rows[i] = string(bytes.Join(r, []byte("|")))
	}
	return rows, result.Err
}
