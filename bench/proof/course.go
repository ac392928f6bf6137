package proof

import (
	"math"
	"sync"
	"time"

	"github.com/lattice-director/director/bench"
)

// course is the number of calls made over time, counted from the end of the warm-up.
type course struct {
	at    []time.Duration
	calls []float64
}

// follow records the progress of a run, and closes begun when the warm-up is over.
func (c *course) follow(warmUp time.Duration, begun chan<- struct{}) func(bench.Progress) {
	var once sync.Once
	return func(p bench.Progress) {
		if p.Elapsed < warmUp || p.Total == 0 {
			return
		}
		once.Do(func() { close(begun) })
		c.at, c.calls = append(c.at, p.Elapsed-warmUp), append(c.calls, float64(p.Calls))
	}
}

// rate is the number of calls a second between two times; NaN where nothing was recorded.
func (c *course) rate(from, to time.Duration) float64 {
	return (c.made(to) - c.made(from)) / (to - from).Seconds()
}

// made is the number of calls until a time, interpolated between two records.
func (c *course) made(until time.Duration) float64 {
	for i := 1; i < len(c.at); i++ {
		if c.at[i] >= until {
			share := float64(until-c.at[i-1]) / float64(c.at[i]-c.at[i-1])
			return c.calls[i-1] + share*(c.calls[i]-c.calls[i-1])
		}
	}
	return math.NaN()
}

// lowest is the lowest rate of a window between two times.
func (c *course) lowest(from, to, window time.Duration) float64 {
	lowest := math.NaN()
	for _, at := range c.at {
		if at >= from && at+window <= to {
			lowest = fmin(lowest, c.rate(at, at+window))
		}
	}
	return lowest
}

// fmin is the minimum of two numbers that ignores NaN.
func fmin(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}
