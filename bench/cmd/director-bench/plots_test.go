package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/proof"
)

// Pins a plot that ends the program: a logarithmic axis has no place for 0, and none for two equal ends.
func TestPlots(t *testing.T) {
	t.Parallel()
	runOf := func(curve ...bench.Point) bench.Result {
		return bench.Result{Name: "call", Figures: bench.Figures{Latency: bench.Latency{Curve: curve}}}
	}
	flat := []bench.Point{{Percentile: 50, MS: 3}, {Percentile: 90, MS: 3}, {Percentile: 100, MS: 9}}
	some := findings{Experiments: []proof.Section{
		{Name: "two", Runs: []bench.Result{runOf(flat...), runOf(flat...)}},
		{Name: "one", Runs: []bench.Result{runOf(bench.Point{Percentile: 0}, flat[0], flat[1]), runOf(flat[0])}},
		{Name: "none", Runs: []bench.Result{runOf()}},
		{Name: "events"},
	}}
	dir := filepath.Join(t.TempDir(), "made")
	require.NoError(t, some.writePlots(dir))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "one-latency.svg"), filepath.Join(dir, "two-latency.svg")}, files)
	require.ErrorContains(t, some.writePlots(files[0]), files[0])
}
