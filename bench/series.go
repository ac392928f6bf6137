package bench

import (
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// series is the latencies and failures of one kind of call. One for all callers takes a lock for less than a
// microsecond, and no memory for each of thousands.
type series struct {
	mu     sync.Mutex
	well   *hdrhistogram.Histogram // microseconds
	ill    *hdrhistogram.Histogram // of failures
	errors map[string]int64
}

// slowest is more than all the calls of a turn may take together.
const slowest = time.Minute

func newSeries() *series {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, slowest.Microseconds(), 3) }
	return &series{well: histogram(), ill: histogram(), errors: map[string]int64{}}
}

func (s *series) add(took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	into := s.well
	if err != nil {
		into = s.ill
		s.errors[kindOf(err)]++
	}
	_ = into.RecordValue(min(took, slowest).Microseconds()) // it refuses only what is beyond slowest
}

func (s *series) counts() (calls, failed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.well.TotalCount() + s.ill.TotalCount(), s.ill.TotalCount()
}

func (s *series) figures(over time.Duration) Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	well, failed := s.well.TotalCount(), s.ill.TotalCount()
	f := Figures{Calls: well + failed, Failed: failed, Errors: maps.Clone(s.errors), Latency: latency(s.well), FailedLatency: latency(s.ill)}
	if over > 0 {
		f.PerSecond = float64(well) / over.Seconds()
	}
	f.Latency.Curve = curve(s.well)
	return f
}

func latency(took *hdrhistogram.Histogram) Latency {
	at := func(percentile float64) float64 { return float64(took.ValueAtPercentile(percentile)) / 1000 }
	return Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(took.Max()) / 1000}
}
