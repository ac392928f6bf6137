package proof

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

func at(perSecond float64) bench.Result {
	return bench.Result{Figures: bench.Figures{PerSecond: perSecond, Calls: 10, Failed: 1}}
}

// Pins a comparison of figures of different rounds, and rounds in which one trial always comes first.
func TestRounds(t *testing.T) {
	t.Parallel()
	var order []string
	speeds := map[string][]float64{"a": {10, 40, 90}, "b": {5, 10, 30}}
	next := func(name string) trial {
		n := 0
		return trial{name, func(context.Context) (bench.Result, error) {
			n++
			order = append(order, name)
			return at(speeds[name][n-1]), nil
		}}
	}
	all, err := Options{Rounds: 3}.measure(t.Context(), next("a"), next("b"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "a", "b", "a", "b"}, order)
	require.Equal(t, 3.0, all.median(func(r round) float64 { return r["a"].PerSecond / r["b"].PerSecond }))
	runs := all.typical("b", "a")
	require.Equal(t, []float64{10, 40}, []float64{runs[0].PerSecond, runs[1].PerSecond})
	require.Equal(t, "b", runs[0].Name)
	require.EqualValues(t, 6, all.sum(failed, "a", "b"))

	broken := trial{"c", func(context.Context) (bench.Result, error) { return bench.Result{}, errors.New("broken") }}
	_, err = Options{}.measure(t.Context(), broken)
	require.EqualError(t, err, "c: broken")
}
