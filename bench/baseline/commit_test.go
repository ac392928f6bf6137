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

type commitsFunc func(ctx context.Context, url string, callers int, warmUp, duration time.Duration) (bench.Result, error)

// Pins commits of the warm-up that are counted, inconsistent figures, and a table that is not dropped.
func TestCommits(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	for scenario, commits := range map[string]commitsFunc{"commit": baseline.Commits, "commit-one-row": baseline.CommitsOfOneRow} {
		res, err := commits(t.Context(), url, 4, 20*time.Millisecond, 100*time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, scenario, res.Scenario)
		require.Equal(t, 4, res.Callers)
		require.Positive(t, res.Calls)
		require.Zero(t, res.Failed)
		require.InDelta(t, float64(res.Calls)/res.Seconds, res.PerSecond, res.PerSecond/10)
		require.Positive(t, res.Latency.P50)
		require.LessOrEqual(t, res.Latency.P999, res.Latency.Max)
		require.Zero(t, tablesLeft(t, url))
	}
	stopped, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err := baseline.Commits(stopped, url, 4, 0, time.Hour)
	require.Error(t, err)
	require.Zero(t, tablesLeft(t, url))
}

// Pins a baseline that takes the last connections of a Postgres, or fails when there are few.
func TestCommitsWithFewConnections(t *testing.T) {
	t.Parallel()
	c := dbtest.NewCluster(t, pglocal.Options{Settings: map[string]string{"max_connections": "16"}})
	res, err := baseline.Commits(t.Context(), c.URL("postgres"), 64, 0, 50*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, 8, res.Callers, "of 16, 3 are the superuser's, 4 are left to others, and the first was asked with")
}
