package bench

import "github.com/HdrHistogram/hdrhistogram-go"

// Point of a latency curve: Percentile percent of the successful calls took at most MS milliseconds.
type Point struct {
	Percentile float64 `json:"percentile"` // 0 to 100
	MS         float64 `json:"ms"`
}

// pointsPerHalving is the number of points of a curve between a percentile and the one with half as many slower calls
// (90 and 95, for example): few enough to print, enough for a smooth line.
const pointsPerHalving = 3

// curve returns a few dozen points of the distribution, denser towards its slow end; none when nothing was recorded.
func curve(took *hdrhistogram.Histogram) []Point {
	if took.TotalCount() == 0 {
		return nil
	}
	brackets := took.CumulativeDistributionWithTicks(pointsPerHalving)
	points := make([]Point, len(brackets))
	for i, b := range brackets {
		points[i] = Point{b.Quantile, float64(b.ValueAt) / 1000}
	}
	return points
}
