package tx_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins a transaction that is reported as committed although it never began, because the function ignored the error.
func TestIgnoredErrorOfBegin(t *testing.T) {
	t.Parallel()
	pool := dbtest.Connect(t)
	_, err := pool.Exec(t.Context(), "CREATE TABLE written (n int)")
	require.NoError(t, err)
	// Postgres refuses a timeout beyond 2^31 ms, after BEGIN.
	tooLong := tx.Timeouts{Statement: 10_000 * time.Hour}
	insert := func(ctx context.Context, t *tx.Tx) { _, _ = t.Exec(ctx, "INSERT INTO written VALUES (1)") }
	for name, ignoring := range map[string]func(context.Context, *tx.Tx){
		"exec":          insert,
		"exec twice":    func(ctx context.Context, t *tx.Tx) { insert(ctx, t); insert(ctx, t) },
		"query row":     func(ctx context.Context, t *tx.Tx) { var n int; _ = t.QueryRow(ctx, "SELECT 1").Scan(&n) },
		"batch":         sendBatch,
		"flushed batch": func(ctx context.Context, t *tx.Tx) { sendBatch(ctx, t); _ = t.Flush(ctx) },
	} {
		err := tx.Run(t.Context(), pool, tooLong, func(x *tx.Tx) error {
			ignoring(t.Context(), x)
			return nil
		})
		require.ErrorIs(t, err, pgx.ErrTxCommitRollback, name)
	}
	require.NoError(t, tx.Run(t.Context(), pool, tooLong, func(*tx.Tx) error { return nil }), "no statement was lost")
	var rows int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM written").Scan(&rows))
	require.Zero(t, rows)
	require.Zero(t, pool.Stat().AcquiredConns())
}

func sendBatch(ctx context.Context, t *tx.Tx) {
	b := &pgx.Batch{}
	b.Queue("INSERT INTO written VALUES (2)")
	_ = t.SendBatch(ctx, b).Close()
}
