package proof

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Pins a median that is not in the middle, or that reorders its input.
func TestMedian(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 20).Draw(t, "values")
		given := slices.Clone(values)
		m := median(values)
		require.Equal(t, given, values)
		below, above := 0, 0
		for _, v := range values {
			if v < m {
				below++
			}
			if v > m {
				above++
			}
		}
		require.LessOrEqual(t, below, len(values)/2)
		require.LessOrEqual(t, above, len(values)/2)
	})
	require.Equal(t, 2.5, median([]float64{4, 1, 2, 3}))
	require.True(t, math.IsNaN(median(nil)))
}

// Pins a target that is met by NaN, or missed by a value equal to it.
func TestFindings(t *testing.T) {
	t.Parallel()
	for value, met := range map[float64][2]bool{
		2.9: {true, false}, 3: {true, true}, 3.1: {false, true},
		math.NaN(): {false, false}, math.Inf(1): {false, false},
	} {
		require.Equal(t, met[0], atMost("x", value, 3, times).Met, value)
		require.Equal(t, met[1], atLeast("x", value, 3, times).Met, value)
	}
	f := noted(atMost("a call", 12.34, 60, micros), "of %d", 5)
	require.Equal(t, []string{"a call", "12.3 µs", "≤ 60.0 µs", "of 5"}, []string{f.Name, f.Value, f.Target, f.Note})
	require.Equal(t, "not measured", atLeast("x", math.NaN(), 3, percent).Value)
	require.Equal(t, "99.0 %", percent(0.99))
}
