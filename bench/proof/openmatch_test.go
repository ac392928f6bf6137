package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// Pins findings that compare with a wrong trial, or report a target as missed that is met.
func TestOpenMatchFindings(t *testing.T) {
	t.Parallel()
	beside := result(9_000, 100, 17)
	beside.Watchers = 5000
	whole := result(1, 100, 700)
	whole.Steps = []bench.Step{{Name: "matched", Figures: bench.Figures{Latency: bench.Latency{P50: 600}}}}
	r := round{
		echoCreate: result(20_000, 60, 2), createAlone: result(11_000, 100, 10), createWatch: beside, commit: result(5_000, 0, 6),
		fetchAll: whole, queryAll: result(30, 30_000, 45), echoQuery: result(200, 2_000, 5),
		lifeWindow: result(100, 1_000, 390), lifeNow: result(100, 1_000, 20),
	}
	all := rounds{r}
	got, missed := values(all.openMatch(10_000))
	require.Equal(t, []string{"11,000/s", "10.00 ms", "700.00 ms", "45.00 ms", "390.00 ms", "20.00 ms", "1.70 ×", "0"}, got)
	require.Equal(t, []int{3, 6}, missed)
	require.Equal(t, "with a window of 250 ms; matched 600.00 ms; 10,000 single-row commits take 2000.00 ms", all.openMatch(10_000)[2].Note)
}
