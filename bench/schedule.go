package bench

import (
	"context"
	"sync/atomic"
	"time"
)

// schedule says when the turns of an open loop are due: at equal intervals, independent of answers. A free caller takes
// the next turn and waits until it is due. A turn that is taken after it was due was due while no caller was free.
type schedule struct {
	start    time.Time
	interval float64 // nanoseconds between two turns
	next     atomic.Int64

	blocked atomic.Int64 // measured turns that were due while no caller was free
	late    *series      // delays of the other measured turns, from when they were due until they began
}

func newSchedule(start time.Time, perSecond float64) *schedule {
	return &schedule{start: start, interval: float64(time.Second) / perSecond, late: newSeries()}
}

// due returns when a turn is due. The first turn is turn 0, at the start.
func (s *schedule) due(turn int64) time.Time {
	return s.start.Add(time.Duration(float64(turn) * s.interval))
}

// before returns how many turns are due before t.
func (s *schedule) before(t time.Time) int64 {
	ahead := t.Sub(s.start)
	if ahead <= 0 {
		return 0
	}
	turns := int64(float64(ahead) / s.interval) // rounding may make it off by one
	for turns > 0 && !s.due(turns-1).Before(t) {
		turns--
	}
	for s.due(turns).Before(t) {
		turns++
	}
	return turns
}

// take waits for the next turn and returns when it was due; false when the period is over before it is due or taken.
func (s *schedule) take(ctx context.Context, at period) (due time.Time, ok bool) {
	due = s.due(s.next.Add(1) - 1)
	now := time.Now()
	if !due.Before(at.until) || !now.Before(at.until) {
		return due, false
	}
	waits := due.After(now)
	if waits && !pause(ctx, due.Sub(now)) {
		return due, false
	}
	s.note(due, time.Now(), waits, at)
	return due, ctx.Err() == nil
}

func (s *schedule) note(due, begun time.Time, waited bool, at period) {
	switch {
	case due.Before(at.from):
	case waited:
		s.late.add(begun.Sub(due), nil)
	default:
		s.blocked.Add(1)
	}
}

// Pause waits for d. Its error is the cause of the end of ctx, when that comes first.
func Pause(ctx context.Context, d time.Duration) error {
	if !pause(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}

// pause waits for d, and returns false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Open says how well an open loop kept to its schedule.
type Open struct {
	Rate    float64 `json:"rate"`    // requested turns a second
	Reached float64 `json:"reached"` // turns a second that began
	Missed  int64   `json:"missed"`  // turns that never began, because no caller was free before the end
	Blocked int64   `json:"blocked"` // turns that began late, because all callers were waiting for answers
	Late    Latency `json:"late_ms"` // delays of the other turns. Far above 1 ms the generator itself is too slow
}

// figures of the turns that were due in the period.
func (s *schedule) figures(at period) *Open {
	own := s.late.figures(0)
	blocked := s.blocked.Load()
	begun, planned := own.Calls+blocked, s.before(at.until)-s.before(at.from)
	return &Open{
		Rate: float64(time.Second) / s.interval, Reached: float64(begun) / at.until.Sub(at.from).Seconds(),
		Missed: planned - begun, Blocked: blocked, Late: own.Latency,
	}
}
