package migrations_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/migrations"
)

// Every file that exists must run on an empty database, and running again must find nothing to do.
func TestUpOnceAndTwice(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	applied, err := migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)
	require.NotEmpty(t, applied)
	require.Equal(t, migrations.Latest(), applied[len(applied)-1])
	again, err := migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)
	require.Empty(t, again)
	version, err := migrations.Version(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, migrations.Latest(), version)
}

// A rolling deployment starts many replicas that all migrate: each file must run once, and nobody may fail over it.
func TestUpInParallelAppliesOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	applied := make([][]int64, 8)
	var wait sync.WaitGroup
	for i := range applied {
		wait.Go(func() {
			versions, err := migrations.Up(context.WithoutCancel(t.Context()), url, nil)
			if err != nil {
				t.Error(err)
			}
			applied[i] = versions
		})
	}
	wait.Wait()
	once, err := migrations.Up(t.Context(), dbtest.Empty(t), nil)
	require.NoError(t, err)
	require.Equal(t, once, slices.Concat(applied...), "together they did what one alone does")
}

// Down must take back all that up made, or the next up meets its remains.
func TestUpDownUpLeavesNothing(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	before := rowsOf(t, url, inventory)
	applied, err := migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)
	up := rowsOf(t, url, inventory)
	require.NotEqual(t, before, up)
	taken, err := migrations.Down(t.Context(), url, 1000, nil)
	require.NoError(t, err)
	slices.Reverse(taken)
	require.Equal(t, applied, taken)
	require.Equal(t, before, rowsOf(t, url, inventory))
	_, err = migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)
	require.Equal(t, up, rowsOf(t, url, inventory))
}

func TestRedoRepeatsTheNewest(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	before := rowsOf(t, url, inventory)
	versions, err := migrations.Redo(t.Context(), url, nil)
	require.NoError(t, err)
	require.Equal(t, []int64{migrations.Latest(), migrations.Latest()}, versions)
	require.Equal(t, before, rowsOf(t, url, inventory))
}

// two is a small history whose second step can be made to fail.
func two(second string) fs.FS {
	file := func(up, down string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "-- +goose Up\n%s;\n-- +goose Down\n%s;\n", up, down)}
	}
	return fstest.MapFS{
		"00001_first.sql":  file("create table first (n int)", "drop table first"),
		"00002_second.sql": file(second, "drop table second"),
	}
}

const second = "create table second (n int)"

// Pins a migration whose process stands still and keeps its locks on tables for ever.
func TestAMigrationThatStandsStillIsEnded(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	_, err := migrations.Of(two("create table second as select current_setting('idle_in_transaction_session_timeout') as idle")).Up(t.Context(), url, nil)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	var idle string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT idle FROM second").Scan(&idle))
	require.Equal(t, "2s", idle)
}

// What failed must be rolled back whole, what came before it stay, and the error name the file.
func TestFailureStopsAtItsFile(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	applied, err := migrations.Of(two("create table second (n int); select 1/0")).Up(t.Context(), url, nil)
	require.ErrorContains(t, err, "up 00002_second.sql")
	require.ErrorContains(t, err, "division by zero")
	require.Equal(t, []int64{1}, applied)
	applied, err = migrations.Of(two(second)).Up(t.Context(), url, nil)
	require.NoError(t, err)
	require.Equal(t, []int64{2}, applied)
}

// Two operators who each ask for one step down have agreed on one step, not on two.
func TestDownCountsFromWhatIsThere(t *testing.T) {
	t.Parallel()
	url, set := dbtest.Empty(t), migrations.Of(two(second))
	_, err := set.Up(t.Context(), url, nil)
	require.NoError(t, err)
	_, err = set.Down(t.Context(), url, 0)
	require.ErrorContains(t, err, "0 steps")
	taken, err := set.Down(t.Context(), url, 1)
	require.NoError(t, err)
	require.Equal(t, []int64{2}, taken)
	taken, err = set.Down(t.Context(), url, 5)
	require.NoError(t, err)
	require.Equal(t, []int64{1}, taken)
	taken, err = set.Down(t.Context(), url, 1)
	require.NoError(t, err)
	require.Empty(t, taken)
	_, err = set.Redo(t.Context(), url)
	require.ErrorIs(t, err, migrations.ErrNothingApplied)
}

// An old binary must not touch a schema whose newest step it does not know; it may read its version and has nothing to
// apply.
func TestSchemaNewerThanTheBinary(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	newer := two(second).(fstest.MapFS)
	_, err := migrations.Of(newer).Up(t.Context(), url, nil)
	require.NoError(t, err)
	older := migrations.Of(fstest.MapFS{"00001_first.sql": newer["00001_first.sql"]})
	applied, err := older.Up(t.Context(), url, nil)
	require.NoError(t, err)
	require.Empty(t, applied)
	version, err := older.Version(t.Context(), url)
	require.NoError(t, err)
	require.EqualValues(t, 2, version)
	require.EqualValues(t, 1, older.Latest())
	_, err = older.Down(t.Context(), url, 1)
	require.ErrorContains(t, err, "newer than this binary")
}

// goose stores local time without its zone: it must be read as what it was written.
func TestStatus(t *testing.T) {
	t.Parallel()
	url, set := dbtest.WithParameters(t, dbtest.Empty(t), "timezone",
		"Asia/Kathmandu"), migrations.Of(two("select 1/0"))
	_, err := set.Up(t.Context(), url, nil)
	require.Error(t, err)
	status, err := set.Status(t.Context(), url)
	require.NoError(t, err)
	require.Len(t, status, 2)
	require.Equal(t, "00001_first.sql", status[0].Name)
	require.True(t, status[0].IsApplied())
	require.WithinDuration(t, time.Now(), status[0].AppliedAt, time.Minute)
	require.EqualValues(t, 2, status[1].Version)
	require.False(t, status[1].IsApplied())
}

// Reading must not wait for the migration that runs: that is when somebody looks.
func TestReadingDoesNotWaitForTheLock(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), "select pg_advisory_lock($1)", migrations.LockID)
	require.NoError(t, err)
	_, err = migrations.Status(t.Context(), url)
	require.NoError(t, err)
	_, err = migrations.Version(t.Context(), url)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = migrations.Down(ctx, url, 1, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// The first command of a newcomer often meets no database: the error must say which step failed and tell no password.
func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	const url = "postgres://director:hunter2@127.0.0.1:1/director"
	_, err := migrations.Up(t.Context(), url, nil)
	require.ErrorContains(t, err, "cannot reach the database")
	require.NotContains(t, err.Error(), "hunter2")
	_, err = migrations.Up(t.Context(), "postgres://director:hunter2@:::/", nil)
	require.ErrorContains(t, err, "database URL")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestLogNamesFilesAndNoAddress(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	_, err := migrations.Of(two(second)).Up(t.Context(), dbtest.Empty(t), slog.New(slog.NewTextHandler(&said, nil)))
	require.NoError(t, err)
	require.Contains(t, said.String(), "migrations=2 direction=up last=00002_second.sql")
	require.NotContains(t, said.String(), "postgres:")
}

// The template of the test databases is cached under this name: a change that it misses gives tests an old schema.
func TestHashChangesWithEveryChange(t *testing.T) {
	t.Parallel()
	base := migrations.Of(two(second)).Hash()
	renamed := two(second).(fstest.MapFS)
	renamed["00003_second.sql"] = renamed["00002_second.sql"]
	delete(renamed, "00002_second.sql")
	require.Equal(t, base, migrations.Of(two(second)).Hash())
	require.NotEqual(t, base, migrations.Of(two(second+" ")).Hash())
	require.NotEqual(t, base, migrations.Of(renamed).Hash())
	require.EqualValues(t, 3, migrations.Of(renamed).Latest())
	require.Len(t, migrations.Hash(), 64)
}

// inventory lists everything in the database that a migration can make, but goose's own table.
const inventory = `
		select 'relation ' || c.oid::regclass || ' ' || c.relkind::text from pg_class c join pg_namespace n on n.oid = relnamespace
		where nspname !~ '^pg_' and nspname <> 'information_schema' and relname !~ '^goose_db_version'
		union all select 'function ' || p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = pronamespace
		where nspname !~ '^pg_' and nspname <> 'information_schema'
		union all select 'type ' || t.oid::regtype from pg_type t join pg_namespace n on n.oid = typnamespace
		where nspname !~ '^pg_' and nspname <> 'information_schema' and typname !~ '^_?goose_db_version'
		union all select 'schema ' || nspname from pg_namespace where nspname !~ '^pg_(toast_)?temp'
		union all select 'extension ' || extname from pg_extension
		order by 1`

// rowsOf returns the rows of a query with one column.
func rowsOf(t *testing.T, url, sql string) []string {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), url))(t)
	defer func() { _ = conn.Close(context.Background()) }()
	return must.Get(pgx.CollectRows(must.Get(conn.Query(t.Context(), sql))(t), pgx.RowTo[string]))(t)
}
