package db

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins names of players that end an element of an array, or are read as NULL.
func TestTextArray(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), dbtest.New(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	read := func(values []string) (back []string) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT $1::text::text[]", textArray(values)).Scan(&back))
		return back
	}
	for _, values := range [][]string{{}, {""}, {"NULL", `\N`, `a"b`, `c\`, "{d,e}", " f ", "ü\n😀"}} {
		require.Equal(t, values, read(values))
	}
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.String(), 0, 5).Draw(rt, "values")
		for i, v := range values {
			values[i] = strings.ReplaceAll(strings.ToValidUTF8(v, "?"), "\x00", "0")
		}
		require.Equal(rt, append([]string{}, values...), read(values))
	})
}
