package migrations_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

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
	all := os.DirFS(".")
	names := must.Get(fs.Glob(all, "*.sql"))(t)
	kept := fstest.MapFS{}
	for _, name := range names {
		if number, _, _ := strings.Cut(name, "_"); number <= fmt.Sprintf("%05d", released) {
			text := must.Get(fs.ReadFile(all, name))(t)
			kept[name] = &fstest.MapFile{Data: text}
		}
	}
	require.Contains(t, slices.Sorted(maps.Keys(kept))[len(kept)-1], fmt.Sprintf("%05d_", released))
	_, err := migrations.Of(kept).Up(t.Context(), url, nil)
	require.NoError(t, err)
	before := rowsOf(t, url, operatorsSchema)
	require.Greater(t, len(before), 100, "the last release has views")
	_, err = migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)
	require.Subset(t, rowsOf(t, url, operatorsSchema), before)
}

// operatorsSchema lists the columns of the views of schema ops with their types, and its functions with theirs.
const operatorsSchema = `
		SELECT 'ops.' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relnamespace = 'ops'::regnamespace AND c.relkind IN ('v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
		UNION ALL
		SELECT 'ops.' || proname || '(' || pg_get_function_identity_arguments(oid) || ') ' || pg_get_function_result(oid)
		FROM pg_proc WHERE pronamespace = 'ops'::regnamespace AND prorettype <> 'trigger'::regtype
		ORDER BY 1`
