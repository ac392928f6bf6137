package bench

import (
	"sync"
	"sync/atomic"
	"time"
)

// Result is what a run measured. Scripts may read its JSON.
type Result struct {
	Scenario  string  `json:"scenario"`
	Run       string  `json:"run"` // part of the names of its regions and game servers: bench-<run>-0 and so on
	Replicas  int     `json:"replicas"`
	Callers   int     `json:"callers"`
	Instances int     `json:"instances"`
	Regions   int     `json:"regions"`
	Modes     int     `json:"modes"`
	HotShare  float64 `json:"hot_share,omitempty"`
	WarmUp    float64 `json:"warm_up"` // seconds
	Seconds   float64 `json:"seconds"` // from the end of the warm-up to the last answer

	Connections int `json:"connections,omitempty"` // shared by callers, if they are
	Tickets     int `json:"tickets,omitempty"`     // that wait at the start of a turn, in scenarios with a fixed number
	Watchers    int `json:"watchers,omitempty"`    // streams that are open during the run
	Agents      int `json:"agents,omitempty"`      // game servers that are connected to an orchestrator
	Sessions    int `json:"sessions,omitempty"`    // of the realtime lobby, beside those of callers

	// turns that ended in each [TimelineSlot] of the measurement
	Timeline []int64 `json:"timeline,omitempty"`
	// what scenarios and experiments measure besides calls: frames is how many all clients together received in a turn of
	// rooms-join
	Values map[string]float64 `json:"values,omitempty"`

	Figures // of whole turns: the one call, or all calls of a session-life together

	Open *Open `json:"open_loop,omitempty"` // nil for a closed loop
	// when turns have several calls, or different ones; in the order of their first call
	Steps []Step `json:"steps,omitempty"`
	Costs *Costs `json:"costs,omitempty"` // nil when not measured
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

// Step is the figures of one call of a turn.
type Step struct {
	Name string `json:"name"`
	Figures
}

func (r *run) result(at period, took time.Duration, costs *Costs) Result {
	res := Result{
		Scenario: r.Scenario, Run: r.id, Replicas: len(r.URLs), Callers: r.Callers, Instances: len(r.fleet.all),
		Regions: r.Regions, Modes: r.Modes, HotShare: r.HotShare, WarmUp: r.WarmUp.Seconds(), Seconds: took.Seconds(),
		Connections: r.Connections, Watchers: r.Watchers, Agents: r.Agents, Sessions: r.Sessions,
		Tickets: r.scenario.waiting(r.Options), Figures: r.record.whole.figures(took), Steps: r.record.figures(took),
		Timeline: r.record.timeline, Costs: costs,
	}
	if r.schedule != nil {
		res.Open = r.schedule.figures(at)
	}
	return res
}

// record collects what callers measure.
type record struct {
	whole    *series
	answered atomic.Int64 // turns that ended, in the warm-up too

	mu       sync.Mutex
	timeline []int64
	names    []string // in the order of their first call
	steps    map[string]*series
}

// TimelineSlot is the resolution of a timeline.
const TimelineSlot = 200 * time.Millisecond

// endTurn counts a turn that ended so long after the begin of the measurement.
func (r *record) endTurn(since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for int(since/TimelineSlot) >= len(r.timeline) {
		r.timeline = append(r.timeline, 0)
	}
	r.timeline[since/TimelineSlot]++
}

// ResultOf is the result of so many calls that together took a while, which is also its latency.
func ResultOf(scenario string, calls int, took time.Duration) Result {
	ms := float64(took) / float64(time.Millisecond)
	return Result{Scenario: scenario, Callers: 1, Seconds: took.Seconds(), Figures: Figures{
		Calls: int64(calls), Errors: map[string]int64{}, PerSecond: float64(calls) / took.Seconds(),
		Latency: Latency{P50: ms, P90: ms, P99: ms, P999: ms, Max: ms},
	}}
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

// figures of the steps; none when there is only one, which equals the whole.
func (r *record) figures(over time.Duration) (steps []Step) {
	if len(r.names) < 2 {
		return nil
	}
	for _, name := range r.names {
		steps = append(steps, Step{name, r.steps[name].figures(over)})
	}
	return steps
}
