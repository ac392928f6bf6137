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

	missed  atomic.Int64 // measured turns that a caller left out because the period was over
	blocked atomic.Int64 // measured turns that were due while no caller was free
	delays  *series      // delays of the other measured turns, from when they were due until they began
}

// period is the time of the measurement.
type period struct {
	from  time.Time // turns that begin from here on are measured
	until time.Time // no turn begins from here on
}

// newSchedule makes a schedule of so many turns a second.
func newSchedule(start time.Time, perSecond float64) *schedule {
	return &schedule{start: start, interval: float64(time.Second) / perSecond, delays: newSeries()}
}

// dueTime returns when a turn is due. The first turn is turn 0, at the start.
func (s *schedule) dueTime(turn int64) time.Time {
	return s.start.Add(time.Duration(float64(turn) * s.interval))
}

// take waits for the next turn and returns when it was due; false when the period is over before it is due or taken.
func (s *schedule) take(ctx context.Context, during period) (dueTime time.Time, isThere bool) {
	dueTime = s.dueTime(s.next.Add(1) - 1)
	now := time.Now()
	if !now.Before(during.until) || !dueTime.Before(during.until) {
		s.noteMissed(dueTime, during)
		return dueTime, false
	}
	isEarly := dueTime.After(now)
	if isEarly && Pause(ctx, dueTime.Sub(now)) != nil {
		return dueTime, false
	}
	switch {
	case dueTime.Before(during.from): // of the warm-up
	case isEarly:
		s.delays.add(time.Since(dueTime), "")
	default:
		s.blocked.Add(1)
	}
	return dueTime, ctx.Err() == nil
}

// Pause waits for d. Its error is the cause of the end of ctx, when that comes first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Open says how well an open loop kept to its schedule.
type Open struct {
	Rate    float64 `json:"rate"`    // requested turns a second
	Reached float64 `json:"reached"` // turns a second that began
	Missed  int64   `json:"missed"`  // turns that never began, because no caller was free before the end
	Blocked int64   `json:"blocked"` // turns that began late, because all callers were waiting for answers
	Delay   Latency `json:"late_ms"` // of the other turns. Far above 1 ms the generator itself is too slow
}

// noteMissed counts a turn that no caller takes, if it was due in the period.
func (s *schedule) noteMissed(dueTime time.Time, during period) {
	if !dueTime.Before(during.from) && dueTime.Before(during.until) {
		s.missed.Add(1)
	}
}

// figures of the turns that were due in the period. It is called once the callers have ended.
func (s *schedule) figures(during period) *Open {
	for due := during.from; due.Before(during.until); {
		due = s.dueTime(s.next.Add(1) - 1)
		s.noteMissed(due, during)
	}
	own, blocked := s.delays.figures(0), s.blocked.Load()
	return &Open{
		Rate:    float64(time.Second) / s.interval,
		Reached: float64(own.Calls+blocked) / during.until.Sub(during.from).Seconds(),
		Missed:  s.missed.Load(), Blocked: blocked, Delay: own.Latency,
	}
}
