package bench

import (
	"context"
	"sync/atomic"
	"time"
)

// schedule is when the turns of an open loop are due: at equal distances, whatever becomes of them. Callers who are free
// take the next turn and wait until it is due. So one that is taken late was due while nobody was free.
type schedule struct {
	start time.Time
	every float64 // nanoseconds between two turns
	next  atomic.Int64

	blocked atomic.Int64 // measured turns that were due before anybody was free
	late    *series      // of the other measured turns: from when they were due until they began
}

func newSchedule(start time.Time, perSecond float64) *schedule {
	return &schedule{start: start, every: float64(time.Second) / perSecond, late: newSeries()}
}

// due is when a turn is to begin. The first is turn 0, at the start.
func (s *schedule) due(turn int64) time.Time {
	return s.start.Add(time.Duration(float64(turn) * s.every))
}

// before is how many turns are due before t.
func (s *schedule) before(t time.Time) int64 {
	ahead := t.Sub(s.start)
	if ahead <= 0 {
		return 0
	}
	turns := int64(float64(ahead) / s.every) // which may be off by one either way
	for turns > 0 && !s.due(turns-1).Before(t) {
		turns--
	}
	for s.due(turns).Before(t) {
		turns++
	}
	return turns
}

// take waits for the next turn and gives when it was due. False: there is none before the period is over, or it could
// only be taken after that.
func (s *schedule) take(ctx context.Context, at period) (due time.Time, ok bool) {
	due = s.due(s.next.Add(1) - 1)
	now := time.Now()
	if !due.Before(at.until) || !now.Before(at.until) {
		return due, false
	}
	waits := due.After(now)
	if waits && !rest(ctx, due.Sub(now)) {
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

// rest waits and tells whether it came to the end of it.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Open is how an open loop kept to its schedule.
type Open struct {
	Rate    float64 `json:"rate"`    // turns a second that were asked for
	Reached float64 `json:"reached"` // turns a second that began
	Missed  int64   `json:"missed"`  // turns that were due and never began: nobody was free before the end
	Blocked int64   `json:"blocked"` // turns that began late as all callers were waiting for answers
	Late    Latency `json:"late_ms"` // how late the generator itself began the others. Far over 1: it cannot keep up
}

// figures of the turns that were due in the period.
func (s *schedule) figures(at period) *Open {
	own := s.late.figures(0)
	blocked := s.blocked.Load()
	begun, planned := own.Calls+blocked, s.before(at.until)-s.before(at.from)
	return &Open{
		Rate: float64(time.Second) / s.every, Reached: float64(begun) / at.until.Sub(at.from).Seconds(),
		Missed: planned - begun, Blocked: blocked, Late: own.Latency,
	}
}
