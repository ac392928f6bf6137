package bench

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run measured. Scripts may read its JSON.
type Result struct {
	Scenario string `json:"scenario"`
	Run      string `json:"run"` // part of the names of its regions and game servers: bench-<run>-0 and so on
	Replicas int    `json:"replicas"`
	Load
	WarmUp  float64 `json:"warm_up"` // seconds
	Seconds float64 `json:"seconds"` // from the end of the warm-up to the last answer

	Figures // of whole turns: the one call, or all calls of a session-life together

	Open *Open `json:"open_loop,omitempty"` // nil for a closed loop
	// when turns have several calls, or different ones; in the order of their first call
	Steps    []Step  `json:"steps,omitempty"`
	Timeline []int64 `json:"timeline,omitempty"` // turns that ended in each [TimelineSlot] of the measurement
	Costs    *Costs  `json:"costs,omitempty"`    // nil when not measured
	// what scenarios and experiments measure besides calls: frames is how many all clients together received in a turn of
	// rooms-join
	Values map[string]float64 `json:"values,omitempty"`
}

// Figures of the calls that began after the warm-up.
type Figures struct {
	Calls  int64 `json:"calls"`  // including failed ones
	Failed int64 `json:"failed"` // calls
	// failed calls by kind: status and code, as in "503 unavailable"; "timeout", "no answer"
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

// Step is the figures of one call of a turn.
type Step struct {
	Name string `json:"name"`
	Figures
}

// ResultOf is the result of so many calls that together took a while, which is also its latency.
func ResultOf(scenario string, calls int, took time.Duration) Result {
	ms := float64(took) / float64(time.Millisecond)
	return Result{Scenario: scenario, Load: Load{Callers: 1}, Seconds: took.Seconds(), Figures: Figures{
		Calls: int64(calls), Errors: map[string]int64{}, PerSecond: float64(calls) / took.Seconds(),
		Latency: Latency{P50: ms, P90: ms, P99: ms, P999: ms, Max: ms},
	}}
}

func (r *run) result(during period, took time.Duration, costs *Costs) Result {
	o := r.job.Options
	res := Result{
		Scenario: o.Scenario.Name, Run: r.job.ID, Replicas: len(o.URLs), Load: o.Load, WarmUp: o.WarmUp.Seconds(),
		Seconds: took.Seconds(), Figures: r.record.turns.figures(took), Steps: r.record.figures(took),
		Timeline: r.record.timeline, Costs: costs,
	}
	if r.schedule != nil {
		res.Open = r.schedule.figures(during)
	}
	return res
}

// record collects what callers measure.
type record struct {
	turns    *series
	answered atomic.Int64 // turns that ended, in the warm-up too

	mu       sync.Mutex
	timeline []int64
	names    []string // of steps, in the order of their first call
	steps    map[string]*series
}

func newRecord() *record { return &record{turns: newSeries(), steps: map[string]*series{}} }

// TimelineSlot is the resolution of a timeline.
const TimelineSlot = 200 * time.Millisecond

// endTurn records a turn that ended so long after the begin of the measurement.
func (r *record) endTurn(took time.Duration, err error, since time.Duration) {
	r.turns.add(took, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	for int(since/TimelineSlot) >= len(r.timeline) {
		r.timeline = append(r.timeline, 0)
	}
	r.timeline[since/TimelineSlot]++
}

func (r *record) step(name string) *series {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steps[name] == nil {
		r.names = append(r.names, name)
		r.steps[name] = newSeries()
	}
	return r.steps[name]
}

// figures of the steps; none when there is only one, which equals the turn.
func (r *record) figures(over time.Duration) (steps []Step) {
	if len(r.names) < 2 {
		return nil
	}
	for _, name := range r.names {
		steps = append(steps, Step{name, r.steps[name].figures(over)})
	}
	return steps
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

func newSeries() *series {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatency.Microseconds(), 3) }
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
	_ = into.RecordValue(min(took, maxLatency).Microseconds()) // fails only beyond maxLatency
}

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
