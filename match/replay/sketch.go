package replay

import (
	"maps"
	"math"
	"slices"
)

// sketch counts numbers so that quantiles are known within 2 % of their value, in memory that does not grow with their
// number: some thousand buckets at most, each 2 % wider than the one before it. The quantile is the mean of its bucket.
type sketch struct {
	n       int
	sum     float64
	max     float64
	buckets map[int]bucket // by index, which orders the numbers
}

type bucket struct {
	n   int
	sum float64
}

const (
	// growth is how much wider a bucket is than the one nearer to zero.
	growth = 1.02
	// least is the smallest number that is not counted as zero.
	least = 1e-6
)

func (s *sketch) add(x float64) {
	if s.buckets == nil {
		s.buckets = map[int]bucket{}
	}
	i := bucketOf(x)
	s.buckets[i] = bucket{s.buckets[i].n + 1, float64(s.buckets[i].sum + x)}
	s.sum = float64(s.sum + x)
	if s.n == 0 || x > s.max {
		s.max = x
	}
	s.n++
}

func bucketOf(x float64) int {
	if math.Abs(x) < least {
		return 0
	}
	i := 1 + int(math.Log(math.Abs(x)/least)/math.Log(growth))
	if x < 0 {
		return -i
	}
	return i
}

// quantile returns the number below which the fraction q of them is; 0 without numbers.
func (s *sketch) quantile(q float64) float64 {
	rank, seen := int(math.Ceil(q*float64(s.n))), 0
	for _, b := range slices.Sorted(maps.Keys(s.buckets)) {
		if seen += s.buckets[b].n; seen >= rank {
			return s.buckets[b].sum / float64(s.buckets[b].n)
		}
	}
	return 0
}

// summary returns the quantiles for a report.
func (s *sketch) summary() Quantiles {
	if s.n == 0 {
		return Quantiles{}
	}
	return Quantiles{
		N: s.n, Mean: rounded(s.sum / float64(s.n)), P50: rounded(s.quantile(0.5)), P90: rounded(s.quantile(0.9)),
		P95: rounded(s.quantile(0.95)), P99: rounded(s.quantile(0.99)), Max: rounded(s.max),
	}
}

// rounded keeps three digits after the point, or four digits in all of small numbers.
func rounded(x float64) float64 {
	if x == 0 {
		return 0
	}
	digits := math.Max(3, 3-math.Floor(math.Log10(math.Abs(x))))
	scale := math.Pow(10, digits)
	return math.Round(x*scale) / scale
}
