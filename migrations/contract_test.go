package migrations_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/migrations"
)

// released is the last migration of the last release, 0.1.0. The commit of a release sets it anew.
const released = 29

// Pins a view of operators, one of its columns, or a function that their dashboards and scripts use, that the next
// release drops, renames or changes the type of (docs/stability.md).
func TestTheOperatorsSchemaOfTheLastReleaseStays(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	_, err := migrations.Of(filesUpTo(t, released)).Up(t.Context(), url, nil)
	require.NoError(t, err)
	before := operatorsSchema(t, url)
	require.Greater(t, len(before), 100, "the last release has views")
	_, err = migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)
	require.Subset(t, operatorsSchema(t, url), before)
}

// filesUpTo returns the migrations of this directory with numbers of at most last.
func filesUpTo(t *testing.T, last int) fs.FS {
	t.Helper()
	all := os.DirFS(".")
	names := must.Get(fs.Glob(all, "*.sql"))(t)
	kept := fstest.MapFS{}
	for _, name := range names {
		if number, _, _ := strings.Cut(name, "_"); number <= fmt.Sprintf("%05d", last) {
			text := must.Get(fs.ReadFile(all, name))(t)
			kept[name] = &fstest.MapFile{Data: text}
		}
	}
	require.Contains(t, slices.Sorted(maps.Keys(kept))[len(kept)-1], fmt.Sprintf("%05d_", last))
	return kept
}

// operatorsSchema lists the columns of the views of schema ops with their types, and its functions with theirs.
func operatorsSchema(t *testing.T, url string) []string {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), url))(t)
	defer func() { _ = conn.Close(context.Background()) }()
	rows := must.Get(conn.Query(t.Context(), `
		SELECT 'ops.' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relnamespace = 'ops'::regnamespace AND c.relkind IN ('v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
		UNION ALL
		SELECT 'ops.' || proname || '(' || pg_get_function_identity_arguments(oid) || ') ' || pg_get_function_result(oid)
		FROM pg_proc WHERE pronamespace = 'ops'::regnamespace AND prorettype <> 'trigger'::regtype
		ORDER BY 1`))(t)
	return must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
}
