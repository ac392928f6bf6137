package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// A server that does not know a statement looks to the director as behind a pooler that does not track it.
func TestPoolerTroubleIsRemembered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Empty(t, b.PoolerTrouble())
	_, err := b.Pool().Exec(t.Context(), "SELECT 1/0", pgx.QueryExecModeSimpleProtocol)
	require.Error(t, err)
	require.Empty(t, b.PoolerTrouble())
	_, err = b.Pool().Exec(t.Context(), "EXECUTE nobody_prepared_this", pgx.QueryExecModeSimpleProtocol)
	require.Error(t, err)
	require.Contains(t, b.PoolerTrouble(), "DIRECTOR_POOLER")
}
