package proof

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func count(t *testing.T, b *testbed, statement string) (n int) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), statement).Scan(&n))
	return n
}

// Pins an installation that the director could never create, calls that fill prefilled sessions instead of opening new
// ones, and a run that meets the rows of another.
func TestPlanted(t *testing.T) {
	t.Parallel()
	store := storetest.Open(t, dbtest.New(t))
	b := &testbed{pool: store.Pool()}
	require.NoError(t, b.prefill(t.Context(), installation{sessions: 204, past: 480, hosts: 3}))
	sizes := func() []int {
		return []int{count(t, b, "SELECT count(*) FROM sessions"), count(t, b, "SELECT sum(player_count) FROM sessions"), count(t, b, "SELECT count(*) FROM seats")}
	}
	before := sizes()
	require.Equal(t, 204, before[0])
	require.Equal(t, before[1], before[2])
	require.Equal(t, 480, count(t, b, "SELECT count(*) FROM seat_history"))
	require.Equal(t, 60, count(t, b, "SELECT count(*) FROM session_history"))
	require.Zero(t, count(t, b, "SELECT count(*) FROM seat_history_default"))
	require.Positive(t, count(t, b, "SELECT count(*) FROM sessions WHERE player_count < max_players"))
	require.Zero(t, count(t, b, "SELECT sum(violations) FROM ops.invariants"))

	for _, sub := range []string{"ann", "bob"} {
		_, err := store.Place(t.Context(), db.PlaceRequest{Caller: sub, Party: []string{sub}, Region: prefilledRegion, Mode: "bench-0", MaxPlayers: 8})
		require.NoError(t, err)
	}
	require.Equal(t, 1, count(t, b, "SELECT count(*) FROM sessions WHERE instance_id LIKE 'planted-%' AND player_count = 2"))
	require.NoError(t, b.sql(t.Context(), "growth_clean.sql"))
	require.Equal(t, before, sizes())
	require.Zero(t, count(t, b, "SELECT sum(violations) FROM ops.invariants"))
}

// Pins a view that is not read, or that fails and looks fast.
func TestLooks(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), dbtest.New(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	views, err := viewsOf(t.Context(), conn)
	require.NoError(t, err)
	require.Greater(t, len(views), 15)
	l := looks{took: map[string][]float64{}}
	l.at(t.Context(), conn, views)
	require.Len(t, l.took, len(views))
	require.Zero(t, l.failed)
	l.at(t.Context(), conn, []view{{"torn", "SELECT 1 / 0"}, {"slow", "SELECT pg_sleep(0.02)"}})
	require.Equal(t, 1, l.failed)
	require.NotContains(t, l.took, "torn")
	require.GreaterOrEqual(t, l.took["slow"][0], 20.0)
	require.Equal(t, "b 5, a 2", (&looks{took: map[string][]float64{"a": {1, 2, 9}, "b": {5}}}).String())
}
