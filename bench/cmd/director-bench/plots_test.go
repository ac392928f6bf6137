package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/proof"
)

func runOf(name string, callers int, perSecond float64, curve ...bench.Point) bench.Result {
	r := bench.Result{Name: name}
	r.Callers, r.PerSecond, r.Latency.Curve = callers, perSecond, curve
	return r
}

// Pins a plot that ends the program: a logarithmic axis has no place for 0, and none for two equal ends.
func TestPlots(t *testing.T) {
	t.Parallel()
	flat := []bench.Point{{Percentile: 50, MS: 3}, {Percentile: 90, MS: 3}, {Percentile: 100, MS: 9}}
	some := findings{Experiments: []proof.Section{
		{Name: "sweep", Runs: []bench.Result{runOf("call", 16, 900, flat...), runOf("call", 1, 100, flat...)}},
		{Name: "one", Runs: []bench.Result{runOf("call", 1, 100, bench.Point{Percentile: 0}, flat[0], flat[1])}},
		{Name: "none", Runs: []bench.Result{runOf("failed", 1, 0)}},
		{Name: "events"},
	}}
	dir := filepath.Join(t.TempDir(), "made")
	require.NoError(t, some.writePlots(dir))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name()
	}
	require.Equal(t, []string{"one-latency.svg", "sweep-latency.svg", "sweep-throughput.svg"}, names)
	require.Equal(t, []float64{1, 16}, []float64{drawThroughput(some.Experiments[0].Runs).plot.X.Min,
		drawThroughput(some.Experiments[0].Runs).plot.X.Max})
	file := filepath.Join(dir, names[0])
	require.ErrorContains(t, some.writePlots(file), file)
}
