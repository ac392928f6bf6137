package dbtest_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/migrations"
)

// Tests in parallel make tables of the same name: none may meet another's, and each finds the migrations applied.
func TestEachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Connect(t)
			require.Equal(t, migrations.Latest(), one[int64](t, pool, "select max(version_id) from goose_db_version"))
			_, err := pool.Exec(t.Context(), "create table mine (n int)")
			require.NoError(t, err)
		})
	}
}

func TestEmptyHasNoTables(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), dbtest.Empty(t))
	require.NoError(t, err)
	defer pool.Close()
	require.Zero(t, one[int](t, pool, "select count(*)::int from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"))
}

// A hundred tests that each hold a pool must not run into the server's limit.
func TestThereIsRoomForManyConnections(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, one[int](t, dbtest.Connect(t), "select current_setting('max_connections')::int"), 300)
}

// What was committed must be there after a crash, and a pool must connect to the server again.
func TestNewClusterCanBeKilled(t *testing.T) {
	t.Parallel()
	c := dbtest.NewMigratedCluster(t, pglocal.Options{Durable: true})
	pool, err := pgxpool.New(t.Context(), c.URL("postgres"))
	require.NoError(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), "create table kept as select 1 n")
	require.NoError(t, err)
	require.NoError(t, c.StopImmediate())
	require.NoError(t, c.Start(t.Context()))
	pool.Reset()
	require.Equal(t, 1, one[int](t, pool, "select n from kept"))
}

// one returns the only value that a query reads.
func one[T any](t *testing.T, pool *pgxpool.Pool, sql string) T {
	t.Helper()
	rows := must.Get(pool.Query(t.Context(), sql))(t)
	return must.Get(pgx.CollectExactlyOneRow(rows, pgx.RowTo[T]))(t)
}

// Pins a machine whose memory the databases of a large package fill.
func TestDatabasesAreDroppedWhereRoomIsScarce(t *testing.T) {
	t.Parallel()
	s := must.Get(dbtest.StartLocal(t.Context()))(t)
	leavesDatabase := func() bool {
		var url string
		t.Run("a test", func(t *testing.T) { url = s.New(t) })
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			require.ErrorContains(t, err, "does not exist")
			return false
		}
		require.NoError(t, conn.Close(t.Context()))
		return true
	}
	require.True(t, leavesDatabase())
	s.TakeRoom()
	require.False(t, leavesDatabase())
}

// What was asked for by name must not be replaced silently by something else.
func TestChoiceIsObeyed(t *testing.T) {
	for _, c := range []struct{ pg, url, complaint string }{
		{"url", "", "DIRECTOR_TEST_PG=url needs TEST_DATABASE_URL"},
		{"sqlite", "", `not "sqlite"`},
		{"", "host=localhost dbname=x", "must have the form postgres://"},
	} {
		t.Setenv("DIRECTOR_TEST_PG", c.pg)
		t.Setenv("TEST_DATABASE_URL", c.url)
		_, err := dbtest.Choose(t.Context())
		require.ErrorContains(t, err, c.complaint)
	}
	t.Setenv("TEST_DATABASE_URL", "")
	t.Setenv("DIRECTOR_TEST_PG", "")
	t.Setenv(pglocal.EnvBinDir, t.TempDir())
	_, err := dbtest.Choose(t.Context())
	require.ErrorContains(t, err, pglocal.EnvBinDir, "a wrong directory must not end in Docker")
}
