package baseline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func optionsOf(s bench.Scenario, url string, callers int, duration time.Duration) bench.Options {
	return bench.Options{Scenario: s, URLs: []string{url}, Load: bench.Load{Callers: callers}, Duration: duration}
}

// Pins a table that is not dropped, a measurement that outlasts its caller, and notifications that wait for one another.
func TestPostgresScenarios(t *testing.T) {
	t.Parallel()
	d := storetest.New(t)
	const tablesLeft = `SELECT count(*) FROM pg_tables WHERE tablename LIKE 'bench\_commit\_%'`
	for _, s := range baseline.Scenarios {
		callers := min(4, s.Usual.Callers)
		res := must.Get(bench.Run(t.Context(), optionsOf(s, d.URL, callers, 100*time.Millisecond)))(t)
		require.Equal(t, s.Name, res.Scenario)
		require.Equal(t, callers, res.Callers)
		require.Positive(t, res.Calls)
		require.Zero(t, res.Failed)
		if s.Name == "notice" {
			require.LessOrEqual(t, res.Calls, int64(21), "one each 5 ms of 100 ms")
		}
		require.Zero(t, d.Count(tablesLeft))

		stopped, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := bench.Run(stopped, optionsOf(s, d.URL, callers, time.Hour))
		stop()
		require.Error(t, err)
		require.Zero(t, d.Count(tablesLeft))
	}
}

// Pins a baseline that takes the last connections of a Postgres, or fails when there are few.
func TestCommitsWithFewConnections(t *testing.T) {
	t.Parallel()
	c := dbtest.NewCluster(t, pglocal.Options{Settings: map[string]string{"max_connections": "16"}})
	res := must.Get(bench.Run(t.Context(), optionsOf(baseline.Scenarios[0], c.URL("postgres"), 64, 50*time.Millisecond)))(t)
	require.Equal(t, 8, res.Callers, "of 16, 3 are the superuser's, 4 are left to others, and the first was asked with")
}
