package migrations_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/migrations"
)

// Pins a migration that waits for a forgotten transaction, with all calls behind it, and one that ends with a deadlock
// because calls lock its tables in another order.
func TestAMigrationGivesWayToCalls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	url := dbtest.Empty(t)
	pool := must.Get(pgxpool.New(ctx, url))(t)
	defer pool.Close()
	_, err := pool.Exec(ctx, "CREATE TABLE a (n int); CREATE TABLE b (n int)")
	require.NoError(t, err)
	set := migrations.Of(fstest.MapFS{"00001_both.sql": {Data: []byte("-- +goose Up\nALTER TABLE a ADD m int;\nALTER TABLE b ADD m int;\n" +
		"-- +goose Down\nALTER TABLE a DROP m;\nALTER TABLE b DROP m;\n")}})
	givesWay := func(t *testing.T, move func() ([]int64, error)) {
		call := must.Get(pool.Begin(ctx))(t)
		defer func() { _ = call.Rollback(context.WithoutCancel(ctx)) }()
		_, err := call.Exec(ctx, "INSERT INTO b (n) VALUES (1)")
		require.NoError(t, err)
		var moved []int64
		done := make(chan error, 1)
		go func() {
			var err error
			moved, err = move()
			done <- err
		}()
		awaitLockWait(t, pool)
		_, err = pool.Exec(ctx, "SELECT FROM b")
		require.NoError(t, err, "a call that waits behind the migration")
		_, err = call.Exec(ctx, "INSERT INTO a (n) VALUES (1)")
		require.NoError(t, err, "a call that needs what the migration has locked")
		require.Empty(t, done)
		require.NoError(t, call.Commit(ctx))
		require.NoError(t, <-done)
		require.Equal(t, []int64{1}, moved)
	}
	givesWay(t, func() ([]int64, error) { return set.Up(ctx, url, nil) })
	givesWay(t, func() ([]int64, error) { return set.Down(ctx, url, 1) })
}

// awaitLockWait returns when a migration waits for a lock.
func awaitLockWait(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waits bool
		return pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'director migrate' AND wait_event_type = 'Lock')`).Scan(&waits) == nil && waits
	}, 20*time.Second, time.Millisecond)
}

// A migration whose process is asked to end while it waits ends.
func TestAMigrationThatWaitsIsEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url := dbtest.Empty(t)
	pool := must.Get(pgxpool.New(t.Context(), url))(t)
	defer pool.Close()
	call := must.Get(pool.Begin(t.Context()))(t)
	_, err := call.Exec(t.Context(), "CREATE TABLE first (n int)") // of the name that the migration needs
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := migrations.Of(two(second)).Up(ctx, url, nil)
		done <- err
	}()
	awaitLockWait(t, pool)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, call.Rollback(t.Context()))
}

// Every file is bounded, in both directions, but for those that are no transaction.
func TestEveryMigrationBoundsItsWaits(t *testing.T) {
	t.Parallel()
	own := os.DirFS(".")
	for _, name := range must.Get(fs.Glob(own, "*.sql"))(t) {
		f := must.Get(migrations.BoundLocks(own).Open(name))(t)
		text := string(must.Get(io.ReadAll(f))(t))
		require.NoError(t, f.Close())
		directions := 2
		if strings.Contains(text, "NO TRANSACTION") {
			directions = 0
		}
		require.Equal(t, directions, strings.Count(text, "SET LOCAL lock_timeout = '800ms';"), name)
	}
}
