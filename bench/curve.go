package bench

import "github.com/HdrHistogram/hdrhistogram-go"

// Point of a latency curve: so many percent of the calls that went well took at most so long.
type Point struct {
	Percentile float64 `json:"percentile"` // 0 to 100
	MS         float64 `json:"ms"`
}

// pointsPerHalving is how many points a curve has between a percentile and the one that half as many calls are beyond
// (90 and 95, say): few enough to print, near enough to each other for a smooth line.
const pointsPerHalving = 3

// curve is a few dozen points of the distribution, nearer to each other the rarer what they tell of. None when nothing
// was recorded.
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
