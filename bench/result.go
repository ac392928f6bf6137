package bench

import (
	"sync"
	"sync/atomic"
	"time"
)

// Result is what a run measured. Its JSON stays.
type Result struct {
	Scenario  string  `json:"scenario"`
	Run       string  `json:"run"` // is in the names of its regions and game servers: bench-<run>-0 and so on
	Replicas  int     `json:"replicas"`
	Callers   int     `json:"callers"`
	Instances int     `json:"instances"`
	Regions   int     `json:"regions"`
	Modes     int     `json:"modes"`
	HotShare  float64 `json:"hot_share,omitempty"`
	WarmUp    float64 `json:"warm_up"` // seconds
	Seconds   float64 `json:"seconds"` // from the end of the warm-up to the last answer

	Connections int `json:"connections,omitempty"` // that callers share, where they do
	Tickets     int `json:"tickets,omitempty"`     // that wait at the start of a turn, where the scenario says how many
	Watchers    int `json:"watchers,omitempty"`    // streams that are open meanwhile

	Figures // of whole turns: of the one call, or of all calls of a session-life together

	Open  *Open  `json:"open_loop,omitempty"` // nil for a closed loop
	Steps []Step `json:"steps,omitempty"`     // where turns have several calls, or not all the same; in the order they first came
	Costs *Costs `json:"costs,omitempty"`     // nil where they were not measured
}

// Figures of what began after the warm-up.
type Figures struct {
	Calls     int64            `json:"calls"`  // that ended, well or not
	Failed    int64            `json:"failed"` // of them
	Errors    map[string]int64 `json:"errors"` // those by kind: status and code, as in "503 unavailable"; "timeout", "no answer"
	PerSecond float64          `json:"per_second"`
	Latency   Latency          `json:"latency_ms"` // of the calls that went well

	FailedLatency Latency `json:"failed_latency_ms"` // of those that did not, without a curve: how early callers are refused
}

// Latency is in milliseconds, to three digits. In an open loop it counts from when a call was due. All are 0 when there
// was no call.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`

	Curve []Point `json:"curve,omitempty"` // the whole distribution, ascending
}

// Step is the figures of one call of a turn.
type Step struct {
	Name string `json:"name"`
	Figures
}

func (r *run) result(at period, took time.Duration, costs *Costs) Result {
	res := Result{
		Scenario: r.Scenario, Run: r.id, Replicas: len(r.URLs), Callers: r.Callers, Instances: len(r.fleet.all),
		Regions: r.Regions, Modes: r.Modes, HotShare: r.HotShare, WarmUp: r.WarmUp.Seconds(), Seconds: took.Seconds(),
		Figures: r.record.whole.figures(took), Steps: r.record.figures(took), Costs: costs,
	}
	if r.schedule != nil {
		res.Open = r.schedule.figures(at)
	}
	return res
}

// record gathers what callers measure.
type record struct {
	whole    *series
	answered atomic.Int64 // turns that ended, in the warm-up too

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

// figures of the steps; a single one says nothing that the whole does not.
func (r *record) figures(over time.Duration) (steps []Step) {
	if len(r.names) < 2 {
		return nil
	}
	for _, name := range r.names {
		steps = append(steps, Step{name, r.steps[name].figures(over)})
	}
	return steps
}
