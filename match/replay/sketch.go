package replay

import (
	"maps"
	"math"
	"slices"
	"sort"
	"sync"
)

// sketch counts numbers so that quantiles are known within 2 % of their value, in bounded memory: some thousand buckets
// at most, each 2 % wider than the one before it. A quantile is the mean of its bucket.
type sketch struct {
	numberCount  int
	numberSum    float64
	greatest     float64
	bucketCounts map[int]bucket // by index, which orders the numbers
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

func (s *sketch) addNumber(x float64) {
	if s.bucketCounts == nil {
		s.bucketCounts = map[int]bucket{}
	}
	i := bucketOf(x)
	s.bucketCounts[i] = bucket{s.bucketCounts[i].n + 1, float64(s.bucketCounts[i].sum + x)}
	s.numberSum = float64(s.numberSum + x)
	if s.numberCount == 0 || x > s.greatest {
		s.greatest = x
	}
	s.numberCount++
}

// bucketBounds returns where buckets begin. They are multiplied and not computed by a logarithm, whose last digit is not
// the same on every architecture.
var bucketBounds = sync.OnceValue(func() (bounds []float64) {
	for bound := least; !math.IsInf(bound, 1); bound = float64(bound * growth) {
		bounds = append(bounds, bound)
	}
	return bounds
})

func bucketOf(x float64) int {
	if math.Abs(x) < least {
		return 0
	}
	// From 1, so that 0 is left for the numbers below least; negative numbers have negative indexes.
	i := sort.Search(len(bucketBounds()), func(i int) bool { return bucketBounds()[i] > math.Abs(x) })
	if x < 0 {
		return -i
	}
	return i
}

// quantileOf returns the number below which the fraction q of them is; 0 without numbers.
func (s *sketch) quantileOf(q float64) float64 {
	rank, seen := int(math.Ceil(q*float64(s.numberCount))), 0
	for _, b := range slices.Sorted(maps.Keys(s.bucketCounts)) {
		seen += s.bucketCounts[b].n
		if seen >= rank {
			return s.bucketCounts[b].sum / float64(s.bucketCounts[b].n)
		}
	}
	return 0
}

// quantileSummary returns the quantiles for a report.
func (s *sketch) quantileSummary() Quantiles {
	if s.numberCount == 0 {
		return Quantiles{}
	}
	return Quantiles{
		N: s.numberCount, Mean: roundNumber(s.numberSum / float64(s.numberCount)), P50: roundNumber(s.quantileOf(0.5)),
		P90: roundNumber(s.quantileOf(0.9)), P95: roundNumber(s.quantileOf(0.95)), P99: roundNumber(s.quantileOf(0.99)), Max: roundNumber(s.greatest),
	}
}

// roundNumber keeps three digits after the point, or four digits in all of small numbers.
func roundNumber(x float64) float64 {
	if x == 0 {
		return 0
	}
	digits := math.Max(3, 3-math.Floor(math.Log10(math.Abs(x))))
	scale := math.Pow(10, digits)
	return math.Round(x*scale) / scale
}
