package baseline_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

func tablesLeft(t *testing.T, url string) (n int) {
	t.Helper()
	pool := must.Get(pgxpool.New(t.Context(), url))(t)
	defer pool.Close()
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE tablename LIKE 'bench\_commit\_%'`).Scan(&n))
	return n
}

func optionsOf(s bench.Scenario, url string, callers int, duration time.Duration) bench.Options {
	return bench.Options{Scenario: s, URLs: []string{url}, Load: bench.Load{Callers: callers}, Duration: duration}
}

// Pins a table that is not dropped, a measurement that outlasts its caller, and notifications that wait for one another.
func TestPostgresScenarios(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	for _, s := range baseline.Scenarios {
		callers := min(4, s.Usual.Callers)
		res, err := bench.Run(t.Context(), optionsOf(s, url, callers, 100*time.Millisecond))
		require.NoError(t, err)
		require.Equal(t, s.Name, res.Scenario)
		require.Equal(t, callers, res.Callers)
		require.Positive(t, res.Calls)
		require.Zero(t, res.Failed)
		require.Equal(t, s.Name == "notice", res.Calls <= 21, s.Name)
		require.Zero(t, tablesLeft(t, url))

		stopped, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = bench.Run(stopped, optionsOf(s, url, callers, time.Hour))
		stop()
		require.Error(t, err)
		require.Zero(t, tablesLeft(t, url))
	}
}

// Pins a baseline that takes the last connections of a Postgres, or fails when there are few.
func TestCommitsWithFewConnections(t *testing.T) {
	t.Parallel()
	c := dbtest.NewCluster(t, pglocal.Options{Settings: map[string]string{"max_connections": "16"}})
	res, err := bench.Run(t.Context(), optionsOf(baseline.Scenarios[0], c.URL("postgres"), 64, 50*time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, 8, res.Callers, "of 16, 3 are the superuser's, 4 are left to others, and the first was asked with")
}
