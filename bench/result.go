package bench

import "time"

// Result is what a run measured. Scripts may read its JSON.
type Result struct {
	Name     string `json:"name,omitempty"` // the arm's of an experiment; "" otherwise
	Scenario string `json:"scenario"`
	Run      string `json:"run"` // part of the names of its regions and game servers: bench-<run>-0 and so on
	Replicas int    `json:"replicas"`
	Load
	WarmUp  float64 `json:"warm_up"` // seconds
	Seconds float64 `json:"seconds"` // from the end of the warm-up to the last answer

	Figures // of whole turns: the one call, or all calls of a session-life together

	Open *Open `json:"open_loop,omitempty"` // nil for a closed loop
	// Steps are there when turns have several calls, or different ones; in the order of their first call.
	Steps    []Figures `json:"steps,omitempty"`
	Timeline []int64   `json:"timeline,omitempty"` // turns that ended in each [TimelineSlot] of the measurement
	Costs    *Costs    `json:"costs,omitempty"`    // nil when not measured
	// Values are what scenarios and experiments measure besides calls: frames is how many all clients together received
	// in a turn of rooms-join.
	Values map[string]float64 `json:"values,omitempty"`
}

// ResultOf is the result of so many calls that together took a while, which is also its latency.
func ResultOf(scenario string, calls int, took time.Duration) Result {
	ms := float64(took) / float64(time.Millisecond)
	return Result{Scenario: scenario, Load: Load{Callers: 1}, Seconds: took.Seconds(), Figures: Figures{
		Calls: int64(calls), Errors: map[string]int64{}, PerSecond: float64(calls) / took.Seconds(),
		Latency: Latency{P50: ms, P90: ms, P99: ms, P999: ms, Max: ms},
	}}
}
