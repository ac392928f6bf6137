package migrations_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/migrations"
)

// Rows that overlap with what this server has counted: those of before are right and stay, the others follow them in
// order. Events and tickets of one transaction stay together.
func TestUpNumbersTheTransactionsOfRestoredRowsAnew(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	exec := func(sql string) {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec("INSERT INTO events (kind) VALUES ('here')")
	exec(`INSERT INTO events (kind, tx) SELECT 'far ' || lpad(i::text, 4, '0'), ((18e15 - 2000 + i / 2)::bigint)::text::xid8 FROM generate_series(1, 1000) i`)
	exec(`INSERT INTO events (kind, tx) SELECT 'dense ' || lpad(i::text, 4, '0'), (pg_current_xact_id()::text::bigint + 100 + i)::text::xid8 FROM generate_series(1, 1000) i`)
	exec(`INSERT INTO settled_tickets (region, id, tx) SELECT 'om', lpad(i::text, 4, '0'), (8e17::bigint + i)::text::xid8 FROM generate_series(1, 500) i`)
	_, err = migrations.Up(t.Context(), url, nil)
	require.NoError(t, err)

	var ordered, tickets bool
	var future, transactions int
	require.NoError(t, conn.QueryRow(t.Context(), `
		SELECT array_agg(kind ORDER BY tx, kind) = array_agg(kind ORDER BY array_position(ARRAY['h', 'd', 'f'], left(kind, 1)), kind),
		       count(*) FILTER (WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())), count(DISTINCT tx) FROM events`).Scan(&ordered, &future, &transactions))
	require.True(t, ordered)
	require.Zero(t, future)
	require.Equal(t, 1+1000+501, transactions)
	require.NoError(t, conn.QueryRow(t.Context(), `
		SELECT array_agg(id ORDER BY tx) = array_agg(id ORDER BY id) AND max(tx) < pg_snapshot_xmax(pg_current_snapshot()) FROM settled_tickets`).Scan(&tickets))
	require.True(t, tickets)
}
