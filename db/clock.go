package db

import (
	"sync/atomic"
	"time"
)

// clock is this pod's clock, and its measured offset to the database's.
type clock struct {
	pod           func() time.Time
	latestReading atomic.Pointer[ClockReading]
}

// ClockReading is what is known of the pod's clock against the database's.
type ClockReading struct {
	Offset           time.Duration // what to add to the pod's clock
	Roundtrip        time.Duration // of the measurement of Offset, whose error was at most half of it
	OffsetMeasuredAt time.Time     // when Offset was measured, by the pod's clock
	MeasuredAt       time.Time     // when the last measurement agreed with Offset, by the pod's clock
}

// clockDrift is by how much two clocks diverge in a second at most, while nobody sets them: each drifts by up to 50
// µs.
const clockDrift = 100 * time.Microsecond

// uncertainty bounds the error of Offset at a moment.
func (r ClockReading) uncertainty(at time.Time) time.Duration {
	return r.Roundtrip/2 + time.Duration(at.Sub(r.OffsetMeasuredAt).Seconds()*float64(clockDrift))
}

// combinedWith returns the more exact of a reading and a later one, so that a slow answer does not shift the time. A
// later reading that contradicts the earlier one replaces it, since a clock was set.
func (r ClockReading) combinedWith(next ClockReading) ClockReading {
	ownError, nextError := r.uncertainty(next.MeasuredAt), next.uncertainty(next.MeasuredAt)
	// Two right readings differ by the sum of their errors at most. If they differ by more, somebody has set a clock.
	if nextError <= ownError || (next.Offset-r.Offset).Abs() > ownError+nextError {
		return next
	}
	r.MeasuredAt = next.MeasuredAt
	return r
}
