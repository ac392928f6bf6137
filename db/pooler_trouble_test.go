package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// An unknown prepared statement is the error that a pooler causes which does not track prepared statements.
func TestPoolerTroubleIsKept(t *testing.T) {
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
