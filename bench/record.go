package bench

import (
	"sync"
	"sync/atomic"
	"time"
)

// record collects what callers measure.
type record struct {
	turns    *series
	answered atomic.Int64 // turns that ended, in the warm-up too

	mu       sync.Mutex
	timeline []int64
	names    []string // of steps, in the order of their first call
	steps    map[string]*series
}

// newRecord makes an empty record.
func newRecord() *record { return &record{turns: newSeries(), steps: map[string]*series{}} }

// TimelineSlot is the resolution of a timeline.
const TimelineSlot = 200 * time.Millisecond

// endTurn records a turn that ended so long after the begin of the measurement, with the kind of its failure or "".
func (r *record) endTurn(took time.Duration, failure string, since time.Duration) {
	r.turns.add(took, failure)
	r.mu.Lock()
	defer r.mu.Unlock()
	for int(since/TimelineSlot) >= len(r.timeline) {
		r.timeline = append(r.timeline, 0)
	}
	r.timeline[since/TimelineSlot]++
}

// step returns the series of a step, made at its first call. All callers share it.
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
func (r *record) figures(over time.Duration) (steps []Figures) {
	if len(r.names) < 2 {
		return nil
	}
	for _, name := range r.names {
		figures := r.steps[name].figures(over)
		figures.Step = name
		steps = append(steps, figures)
	}
	return steps
}
