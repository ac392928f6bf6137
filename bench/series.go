package bench

import (
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// series is the latencies and failures of one kind of call. All callers share it: its lock is held for less than a
// microsecond, and a histogram for each of thousands of callers would need too much memory.
type series struct {
	mu        sync.Mutex
	succeeded *hdrhistogram.Histogram // latencies in microseconds
	failed    *hdrhistogram.Histogram // the same of failures
	errors    map[string]int64
}

// slowest is more than the timeouts of all calls of a turn together.
const slowest = time.Minute

func newSeries() *series {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, slowest.Microseconds(), 3) }
	return &series{succeeded: histogram(), failed: histogram(), errors: map[string]int64{}}
}

func (s *series) add(took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	into := s.succeeded
	if err != nil {
		into = s.failed
		s.errors[KindOf(err)]++
	}
	_ = into.RecordValue(min(took, slowest).Microseconds()) // fails only beyond slowest
}

func (s *series) counts() (calls, failed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.succeeded.TotalCount() + s.failed.TotalCount(), s.failed.TotalCount()
}

func (s *series) figures(over time.Duration) Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	succeeded, failed := s.succeeded.TotalCount(), s.failed.TotalCount()
	f := Figures{Calls: succeeded + failed, Failed: failed, Errors: maps.Clone(s.errors), Latency: latency(s.succeeded),
		FailedLatency: latency(s.failed)}
	if over > 0 {
		f.PerSecond = float64(succeeded) / over.Seconds()
	}
	f.Latency.Curve = curve(s.succeeded)
	return f
}

func latency(took *hdrhistogram.Histogram) Latency {
	at := func(percentile float64) float64 { return float64(took.ValueAtPercentile(percentile)) / 1000 }
	return Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(took.Max()) / 1000}
}
