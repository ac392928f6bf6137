package bench

import (
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run measured. Its JSON stays.
type Result struct {
	Scenario  string  `json:"scenario"`
	Callers   int     `json:"callers"`
	Instances int     `json:"instances"`
	WarmUp    float64 `json:"warm_up"` // seconds
	Seconds   float64 `json:"seconds"` // from the end of the warm-up to the last answer

	Figures // of whole turns: of the one call, or of all calls of a session-life together

	Steps []Step `json:"steps,omitempty"` // where a turn has several, in their order
}

// Figures of what began after the warm-up.
type Figures struct {
	Calls     int64            `json:"calls"`  // that ended, well or not
	Failed    int64            `json:"failed"` // of them
	Errors    map[string]int64 `json:"errors"` // those by kind: status and code, as in "503 unavailable"; "timeout", "no answer"
	PerSecond float64          `json:"per_second"`
	Latency   Latency          `json:"latency_ms"`
}

// Latency is in milliseconds, of the calls that went well; to three digits. All are 0 when none did.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Step is the figures of one call of a turn.
type Step struct {
	Name string `json:"name"`
	Figures
}

func (r *run) result(took time.Duration) Result {
	res := Result{
		Scenario: r.Scenario, Callers: r.Callers, Instances: r.Instances,
		WarmUp: r.WarmUp.Seconds(), Seconds: took.Seconds(), Figures: r.record.whole.figures(took),
	}
	if len(r.record.names) > 1 {
		for _, name := range r.record.names {
			res.Steps = append(res.Steps, Step{name, r.record.steps[name].figures(took)})
		}
	}
	return res
}

// record gathers what callers measure.
type record struct {
	whole *series

	mu    sync.Mutex
	names []string // as they first came
	steps map[string]*series
}

func newRecord() *record { return &record{whole: newSeries(), steps: map[string]*series{}} }

func (r *record) step(name string) *series {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steps[name] == nil {
		r.names = append(r.names, name)
		r.steps[name] = newSeries()
	}
	return r.steps[name]
}

// series is the latencies and failures of one kind of call. One for all callers takes a lock for less than a
// microsecond, and no memory for each of thousands.
type series struct {
	mu     sync.Mutex
	took   *hdrhistogram.Histogram // microseconds
	failed int64
	errors map[string]int64
}

// slowest is more than all the calls of a turn may take together.
const slowest = time.Minute

func newSeries() *series {
	return &series{took: hdrhistogram.New(1, slowest.Microseconds(), 3), errors: map[string]int64{}}
}

func (s *series) add(took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed++
		s.errors[kindOf(err)]++
		return
	}
	_ = s.took.RecordValue(min(took, slowest).Microseconds()) // it refuses only what is beyond slowest
}

func (s *series) counts() (calls, failed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took.TotalCount() + s.failed, s.failed
}

func (s *series) figures(over time.Duration) Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	well := s.took.TotalCount()
	f := Figures{Calls: well + s.failed, Failed: s.failed, Errors: maps.Clone(s.errors)}
	if over > 0 {
		f.PerSecond = float64(well) / over.Seconds()
	}
	at := func(percentile float64) float64 { return float64(s.took.ValueAtPercentile(percentile)) / 1000 }
	f.Latency = Latency{at(50), at(90), at(99), at(99.9), float64(s.took.Max()) / 1000}
	return f
}
