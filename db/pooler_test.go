package db

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/internal/base/fault"
)

// Pins a pooler whose mode the director's settings do not match: an internal error that does not name the cause.
func TestPoolerErrorsAreUnavailableWithAHint(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ code, message, hint string }{
		{"26000", `prepared statement "stmtcache_1" does not exist`, "set DIRECTOR_POOLER=pgbouncer"},
		{"42P05", `prepared statement "stmtcache_1" already exists`, "set DIRECTOR_POOLER=pgbouncer"},
		{"08P01", "unsupported startup parameter: statement_timeout", "ignore_startup_parameters"},
		{"08P01", "insufficient data left in message", ""},
		{"23505", "duplicate key", ""},
	} {
		cause := fmt.Errorf("placing: %w", &pgconn.PgError{Code: row.code, Message: row.message})
		hint, err := PoolerHint(cause), frame.Classify(cause)
		if row.hint == "" {
			require.Empty(t, hint, row.message)
			continue
		}
		require.Contains(t, hint, row.hint)
		require.True(t, fault.Is(err, fault.Unavailable))
		require.ErrorContains(t, err, row.hint, "for the log")
		require.ErrorContains(t, err, row.message, "for the log")
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		require.NotContains(t, e.Detail, "DIRECTOR_POOLER", "callers do not get the director's settings")
	}
	require.Empty(t, PoolerHint(errors.New("26000")))
}
