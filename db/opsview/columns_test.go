package opsview_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins a column that a migration adds to a view and its struct lacks, and a field of a struct that has no column.
func TestStructsHaveTheColumnsOfTheirViews(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), dbtest.New(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	for _, d := range opsview.AllViews() {
		rows, err := conn.Query(t.Context(), `SELECT attname::text FROM pg_attribute
			WHERE attrelid = ('ops.' || $1::text)::regclass AND attnum > 0 AND NOT attisdropped`, d.View)
		require.NoError(t, err, d.View)
		there, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		read := slices.DeleteFunc(slices.Clone(d.Columns), func(c string) bool { return slices.Contains(d.Derived, c) && !slices.Contains(there, c) })
		require.ElementsMatch(t, there, read, "struct of ops.%s", d.View)
		require.NoError(t, d.Read(t.Context(), conn), "ops.%s", d.View)
	}
}

// Pins a View that All leaves out, which nothing compares with the database.
func TestAllHasEveryView(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	declared := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				if generic, ok := literal.Type.(*ast.IndexListExpr); ok && generic.X.(*ast.Ident).Name == "View" {
					declared++
				}
			}
			return true
		})
	}
	require.Len(t, opsview.AllViews(), declared)
}
