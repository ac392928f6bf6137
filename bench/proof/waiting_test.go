package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins targets that are reported as met although they are missed, and memory that is not divided by the sockets.
func TestWaitingFindings(t *testing.T) {
	t.Parallel()
	run := func(p99, cpu float64, rss int64) bench.Result {
		return bench.Result{
			Seconds: 10, Figures: bench.Figures{Calls: 3000, Latency: bench.Latency{P99: p99}}, Costs: &bench.Costs{ServerMicros: cpu, ServerRSS: rss},
		}
	}
	all := rounds{{placedAlone: run(5, 1000, 50<<20), placedBeside: run(6, 2000, 50<<20+100*64<<10)}}
	got, missed := values(all.waiting(100, 0))
	require.Equal(t, []string{"1.20 ×", "64 KiB", "0", "0", "0"}, got)
	require.Empty(t, missed)
	require.Contains(t, all.waiting(100, 0)[0].Note, "CPU of the replica 0.60 cores, without them 0.30 cores")
	_, missed = values(rounds{{placedAlone: run(5, 1, 0), placedBeside: run(6.1, 1, 101<<16)}}.waiting(100, 1))
	require.Equal(t, []int{0, 1, 2}, missed)
}

// Pins statements that no longer fit the schema.
func TestWaitingStatements(t *testing.T) {
	t.Parallel()
	b := &testbed{pool: dbtest.Connect(t)}
	require.NoError(t, b.sql(t.Context(), "waiting_pool.sql", prefilledRegion))
	require.NoError(t, b.noDemand(t.Context()))
	_, err := b.pool.Exec(t.Context(), `INSERT INTO demand (region, mode, key, matches, players) VALUES ('r', 'bench-waits', 'ann', 1, 1)`)
	require.NoError(t, err)
	var players int
	require.NoError(t, b.pool.QueryRow(t.Context(), demandText).Scan(&players))
	require.Equal(t, 1, players)
}
