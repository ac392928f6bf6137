package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// DB is a database of a test's own and a store on it, with what tests do to both in SQL. The bundles of packages embed
// it.
type DB struct {
	*db.Store

	T   testing.TB
	URL string
}

// New makes a database, and opens a store on it as [Open] does.
func New(t testing.TB, change ...func(*db.Config)) *DB {
	t.Helper()
	d := &DB{T: t, URL: dbtest.New(t)}
	d.Store = d.Replica(change...)
	return d
}

// Replica opens another store on the same database, as another pod would.
func (d *DB) Replica(change ...func(*db.Config)) *db.Store {
	d.T.Helper()
	return Open(d.T, d.URL, change...)
}

// Exec runs a statement.
func (d *DB) Exec(sql string, args ...any) {
	d.T.Helper()
	_, err := d.Pool().Exec(d.T.Context(), sql, args...)
	require.NoError(d.T, err, sql)
}

// One returns the only value that a query reads.
func One[V any](d *DB, sql string, args ...any) (v V) {
	d.T.Helper()
	require.NoError(d.T, d.Pool().QueryRow(d.T.Context(), sql, args...).Scan(&v), sql)
	return v
}

// Count returns the number that a query reads.
func (d *DB) Count(sql string, args ...any) int {
	d.T.Helper()
	return One[int](d, sql, args...)
}

// Eventually waits until a query reads a number.
func (d *DB) Eventually(want int, sql string, args ...any) {
	d.T.Helper()
	var got int
	require.Eventually(d.T, func() bool {
		return d.Pool().QueryRow(d.T.Context(), sql, args...).Scan(&got) == nil && got == want
	}, 10*time.Second, 10*time.Millisecond, "%s: want %d", sql, want)
}

// RequireInvariants asserts that no invariant is violated.
func (d *DB) RequireInvariants() {
	d.T.Helper()
	require.Zero(d.T, d.Count("SELECT coalesce(sum(violations), 0)::int FROM ops.invariants"))
}

// EndAmnesty ends the amnesty of a new database, as an hour of heartbeats would.
func (d *DB) EndAmnesty() {
	d.T.Helper()
	d.Exec("UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour'")
}
