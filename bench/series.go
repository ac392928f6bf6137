package bench

import (
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Figures of the calls that began after the warm-up.
type Figures struct {
	Step   string `json:"name,omitempty"` // the call of a turn that they are of; "": whole turns
	Calls  int64  `json:"calls"`          // including failed ones
	Failed int64  `json:"failed"`         // calls
	// Errors counts failed calls by kind: status and code, as in "503 unavailable"; "timeout", "no answer".
	Errors    map[string]int64 `json:"errors"`
	PerSecond float64          `json:"per_second"` // successful calls
	Latency   Latency          `json:"latency_ms"` // of successful calls

	FailedLatency Latency `json:"failed_latency_ms"` // of failed calls, without a curve: how quickly calls are refused
}

// Latency is in milliseconds, with three significant digits. In an open loop it counts from when a call was due.
// Without calls all values are 0.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`

	Curve []Point `json:"curve,omitempty"` // the whole distribution, ascending
}

// Point of a latency curve: Percentile percent of the successful calls took at most MS milliseconds.
type Point struct {
	Percentile float64 `json:"percentile"` // 0 to 100
	MS         float64 `json:"ms"`
}

// series is the latencies and failures of one kind of call. All callers share it: its lock is held for less than a
// microsecond, and a histogram for each of thousands of callers would need too much memory.
type series struct {
	mu        sync.Mutex
	succeeded *hdrhistogram.Histogram // latencies in microseconds
	failed    *hdrhistogram.Histogram // the same of failures
	errors    map[string]int64
}

// maxLatency is more than the timeouts of all calls of a turn together.
const maxLatency = time.Minute

// newSeries makes an empty series.
func newSeries() *series {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatency.Microseconds(), 3) }
	return &series{succeeded: histogram(), failed: histogram(), errors: map[string]int64{}}
}

// add records a call, with the kind of its failure or "".
func (s *series) add(took time.Duration, failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	into := s.succeeded
	if failure != "" {
		into = s.failed
		s.errors[failure]++
	}
	_ = into.RecordValue(min(took, maxLatency).Microseconds()) // fails only beyond maxLatency
}

// figures returns what was recorded, with its rate over a time; over 0 there is none.
func (s *series) figures(over time.Duration) Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	succeeded, failed := s.succeeded.TotalCount(), s.failed.TotalCount()
	f := Figures{Calls: succeeded + failed, Failed: failed, Errors: maps.Clone(s.errors),
		Latency:       latencyOf(s.succeeded),
		FailedLatency: latencyOf(s.failed)}
	if over > 0 {
		f.PerSecond = float64(succeeded) / over.Seconds()
	}
	f.Latency.Curve = curveOf(s.succeeded)
	return f
}

// latencyOf reads the usual percentiles, in milliseconds.
func latencyOf(took *hdrhistogram.Histogram) Latency {
	at := func(percentile float64) float64 { return float64(took.ValueAtPercentile(percentile)) / 1000 }
	return Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(took.Max()) / 1000}
}

// pointsPerHalving is the number of points of a curve between a percentile and the one with half as many slower calls
// (90 and 95, for example): few enough to print, enough for a smooth line.
const pointsPerHalving = 3

// curveOf returns a few dozen points of the distribution, denser towards its slow end; none when nothing was recorded.
func curveOf(took *hdrhistogram.Histogram) (points []Point) {
	if took.TotalCount() == 0 {
		return nil
	}
	for _, b := range took.CumulativeDistributionWithTicks(pointsPerHalving) {
		points = append(points, Point{b.Quantile, float64(b.ValueAt) / 1000})
	}
	return points
}
