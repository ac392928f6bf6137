package proof

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// result is a run with that much CPU per call, half of it in Postgres.
func result(perSecond, cpu, took float64) bench.Result {
	return bench.Result{
		Seconds: 10, Figures: bench.Figures{Calls: 100, PerSecond: perSecond,
			Latency: bench.Latency{P50: took, P99: took, Max: took}},
		Costs: &bench.Costs{ServerMicros: cpu / 2, PostgresMicros: cpu / 2},
	}
}

// withStep adds a step that took so long.
func withStep(r bench.Result, name string, took float64) bench.Result {
	r.Steps = append(slices.Clone(r.Steps),
		bench.Figures{Step: name, Latency: bench.Latency{P50: took, P99: took}})
	return r
}

// Pins a median that is not in the middle, or that reorders its input.
func TestMiddle(t *testing.T) {
	t.Parallel()
	values := []float64{4, 1, 2, 3}
	require.Equal(t, 2.5, middle(values))
	require.Equal(t, []float64{4, 1, 2, 3}, values)
	require.Equal(t, 2.0, middle([]float64{9, 1, 2}))
}

// Pins a target that is met by NaN, or missed by a value equal to it.
func TestTargets(t *testing.T) {
	t.Parallel()
	for value, expected := range map[float64][2]bool{
		2.9: {true, false}, 3: {true, true}, 3.1: {false, true},
		math.NaN(): {false, false}, math.Inf(1): {false, false},
	} {
		require.Equal(t, expected, [2]bool{atMost(3).isMet(value), atLeast(3).isMet(value)}, value)
	}
	constant := func(v float64, in unit) measure { return measure{take: func(rounds) float64 { return v }, unit: in} }
	all := rounds{}.judge([]claim{{"a call", constant(12.34, micros), atMost(60)}, {"x", constant(math.NaN(), percent), atLeast(3)}})
	require.Equal(t, Finding{"a call", "12.3 µs", "≤ 60.0 µs", true, ""}, all[0])
	require.Equal(t, "not measured", all[1].Measured)
	require.Equal(t, "-1,234,567", inFull(-1234567))
}

// Pins a comparison of figures of different rounds, rounds in which one arm always comes first, and an arm of the last
// round that is made in each or counts as 0 in the others.
func TestRounds(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	var order []string
	speeds := map[string][]float64{"a": {10, 40, 90}, "b": {5, 10, 30}, "last": {7}}
	next := func(name string) arm {
		n := 0
		return arm{name: name, on: side{bed: b}, isLast: name == "last", run: func(context.Context) (bench.Result, error) {
			n++
			order = append(order, name)
			return bench.Result{Figures: bench.Figures{PerSecond: speeds[name][n-1], Calls: 10, Failed: 1,
				Errors: map[string]int64{"503 busy": 1}}}, nil
		}}
	}
	arms := []arm{next("a"), next("b"), next("last")}
	all, err := measureAll(t.Context(), Options{Rounds: 3}, arms)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "a", "b", "a", "b", "last"}, order)
	require.Equal(t, 3.0, ratio("a", "b", throughput).take(all))
	require.Equal(t, 30.0, difference("a", "b", throughput).take(all))
	require.Equal(t, 7.0, median("last", throughput).take(all))
	speed := func(r round) float64 { return r["a"].PerSecond }
	require.Equal(t, []float64{10, 90}, []float64{reduceRounds(first, perSecond, speed, "a").take(all),
		reduceRounds(highest, perSecond, speed, "a").take(all)})
	require.Equal(t, 6.0, total(failed, "a", "b").take(all))
	require.Equal(t, "7 × 503 busy", failures("a", "b", "last").explain(all))
	require.True(t, math.IsNaN(median("none", throughput).take(all)))
	runs := all.typical(arms)
	require.Equal(t, []float64{40, 10, 7}, []float64{runs[0].PerSecond, runs[1].PerSecond, runs[2].PerSecond})
	require.Equal(t, "b", runs[1].Name)

	broken := arm{name: "c", on: side{bed: b},
		run: func(context.Context) (bench.Result, error) { return bench.Result{}, errors.New("broken") }}
	_, err = measureAll(t.Context(), Options{Rounds: 1}, []arm{broken})
	require.EqualError(t, err, "c: broken")
}

// Pins steps that are made after the run, a result that is completed without one, and something beside a run that
// outlasts it or whose error is lost.
func TestArm(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(word string) step { return func(context.Context) error { order = append(order, word); return nil } }
	_, b := setup(t)
	a := arm{on: side{bed: b}, preparation: []step{note("first"), note("second")},
		run:      func(ctx context.Context) (bench.Result, error) { return bench.Result{}, note("run")(ctx) },
		beside:   func(ctx context.Context) error { <-ctx.Done(); return note("beside")(ctx) },
		complete: func(_ context.Context, r *bench.Result) error { r.Values["x"] = 1; return nil },
	}
	r, err := a.measure(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second", "run", "beside"}, order)
	require.Equal(t, 1.0, valueOf("x", times).read(r))
	require.True(t, math.IsNaN(valueOf("y", times).read(r)))
	failing := errors.New("failing")
	a.beside = func(context.Context) error { return failing }
	_, err = a.measure(t.Context())
	require.ErrorIs(t, err, failing)
	a.preparation, a.beside = []step{a.beside}, nil
	_, err = a.measure(t.Context())
	require.ErrorIs(t, err, failing)
}
