package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// Pins transactions that are compared the wrong way round, and the wait of the hot mode counted as that of the others.
func TestRegionsFindings(t *testing.T) {
	t.Parallel()
	took := func(transactions, p99 float64) bench.Result {
		r := result(1000, 10, p99)
		r.Costs.Transactions = transactions
		return r
	}
	r := round{
		spread(1, 1): took(0.02, 5), spread(1, wide): took(0.022, 10), spread(wide, 1): took(0.2, 5), spread(wide, wide): took(0.4, 5),
		hot: took(0.02, 30),
	}
	run := r[hot]
	run.Steps = []bench.Step{
		{Name: hottest, Figures: bench.Figures{Latency: bench.Latency{P99: 40}}}, {Name: others, Figures: bench.Figures{Latency: bench.Latency{P99: 12}}},
	}
	r[hot] = run
	got, missed := values(rounds{r}.regions())
	require.Equal(t, []string{"1.10 ×", "2.00 ×", "20.00 ×", "1.20 ×"}, got)
	require.Equal(t, []int{1, 2}, missed)
}
