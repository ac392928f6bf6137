package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/migrations"
)

// A schema with rows migrates one step down and up without losing them, and all the way down and up.
func TestMigrationsWithData(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	b.rotate(false)

	_, err := migrations.Redo(t.Context(), b.URL, nil)
	require.NoError(t, err)
	b.Pool().Reset()
	require.Equal(t, p, b.place(request("ann", 8)))
	b.RequireInvariants()

	_, err = migrations.Down(t.Context(), b.URL, int(migrations.Latest()), nil)
	require.NoError(t, err)
	b.Pool().Reset()
	version, err := b.SchemaVersion(t.Context())
	require.NoError(t, err)
	require.Zero(t, version)
	_, err = migrations.Up(t.Context(), b.URL, nil)
	require.NoError(t, err)
	b.Pool().Reset()
	version, err = b.SchemaVersion(t.Context())
	require.NoError(t, err)
	require.Equal(t, migrations.Latest(), version)
	b.AddServer("a", 16)
	_, err = b.Resolve(t.Context(), p.SessionHandle, "ann")
	requireKind(t, fault.NotFound, "session_unknown", err)
}
