package bench

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
)

// Pins a curve without the slow end of the distribution, or with thousands of points.
func TestCurve(t *testing.T) {
	t.Parallel()
	took := hdrhistogram.New(1, maxLatency.Microseconds(), 3)
	require.Empty(t, curveOf(took))
	for i := range int64(100_000) {
		require.NoError(t, took.RecordValue(1000+i))
	}

	points := curveOf(took)
	require.InDelta(t, 50, len(points), 20)
	for i, p := range points[1:] {
		require.Greater(t, p.Percentile, points[i].Percentile)
		require.GreaterOrEqual(t, p.MS, points[i].MS)
	}
	require.InDelta(t, 1, points[0].MS, 0.01)
	require.InDelta(t, 100, points[len(points)-1].Percentile, 0)
	require.InDelta(t, 101, points[len(points)-1].MS, 0.1)
}
