package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// result is a run with that much CPU per call, half of it in Postgres.
func result(perSecond, cpu, p50 float64) bench.Result {
	return bench.Result{
		Figures: bench.Figures{Calls: 100, PerSecond: perSecond, Latency: bench.Latency{P50: p50, P99: p50}},
		Costs:   &bench.Costs{ServerMicros: cpu / 2, PostgresMicros: cpu / 2},
	}
}

func values(all []Finding) (values []string, missed []int) {
	for i, f := range all {
		values = append(values, f.Value)
		if !f.Met {
			missed = append(missed, i)
		}
	}
	return values, missed
}

// Pins findings that compare with a wrong baseline, or report a target as missed that is met.
func TestReachFindings(t *testing.T) {
	t.Parallel()
	r := round{
		noOp: result(30_000, 40, 1), matchmake: result(12_000, 95, 1), naiveMatchmake: result(3_000, 390, 1),
		resolve: result(8_000, 130, 1), fleetNoOp: result(40_000, 30, 1), heartbeat: result(25_000, 45, 1),
		commit: result(9_000, 0, 1), loneMatchmake: result(900, 300, 1.2), naiveLoneMatchmake: result(1000, 300, 1),
	}
	got, missed := values(rounds{r}.reach())
	require.Equal(t, []string{"55.0 µs", "90.0 µs", "15.0 µs", "4.00 ×", "0.24 ×", "1.20 ×", "0"}, got)
	require.Equal(t, []int{1}, missed)

	// When half of the calls fail, each successful one costs twice as much.
	naive := r[naiveMatchmake]
	naive.Failed = 50
	r[naiveMatchmake] = naive
	got, _ = values(rounds{r}.reach())
	require.Equal(t, "0.12 ×", got[4])

	// Where CPU cannot be measured, no finding about it is met.
	for name, run := range r {
		run.Costs = nil
		r[name] = run
	}
	got, missed = values(rounds{r}.reach())
	require.Equal(t, []int{0, 1, 2, 4}, missed)
	require.Equal(t, "not measured", got[4])
}

// Pins a single refusal, which a median would hide.
func TestCapacityFindings(t *testing.T) {
	t.Parallel()
	succeeded, ill := bench.Result{Figures: bench.Figures{Calls: 1000}}, bench.Result{Figures: bench.Figures{
		Calls: 1000, Failed: 3, Errors: map[string]int64{noRoom: 2, "503 unavailable": 1},
	}}
	all := rounds{{matchmake: succeeded, naiveMatchmake: ill}, {matchmake: succeeded, naiveMatchmake: ill}}
	got, missed := values(all.refusals())
	require.Equal(t, []string{"0.0 %", "0"}, got)
	require.Empty(t, missed)
	require.Contains(t, all.refusals()[0].Note, "0.2 %")
	all[1][matchmake] = ill
	got, missed = values(all.refusals())
	require.Equal(t, []string{"0.1 %", "1"}, got)
	require.Equal(t, []int{0, 1}, missed)
}

// Pins a curve whose names contain the number of callers, and group sizes of another side.
func TestCallersFindings(t *testing.T) {
	t.Parallel()
	grouped := func(callers int, mean float64) bench.Result {
		return bench.Result{Callers: callers, Costs: &bench.Costs{Groups: map[string]bench.Group{"placement": {MeanCalls: mean}}}}
	}
	all := rounds{{
		by(noOp, 1): {Callers: 1}, by(matchmake, 1): grouped(1, 1), by(naiveMatchmake, 1): grouped(1, 7),
		by(noOp, 64): {Callers: 64}, by(matchmake, 64): grouped(64, 30), by(naiveMatchmake, 64): grouped(64, 7),
	}}
	f := all.grouping(1, 64)
	require.Equal(t, "30.00 ×", f.Value)
	runs := all.swept([]int{1, 64})
	require.Len(t, runs, 6)
	require.Equal(t, naiveMatchmake, runs[5].Name)
	require.Equal(t, 64, runs[5].Callers)
}
