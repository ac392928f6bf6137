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
	Roundtrip        time.Duration // of the measurement of Offset, whose uncertainty was half of it
	OffsetMeasuredAt time.Time     // when Offset was measured, by the pod's clock
	MeasuredAt       time.Time     // of the last measurement, which Offset agrees with, by the pod's clock
}

// clockDrift is by how much two clocks part in a second at most, while nobody sets them: quartz has up to 50 µs each.
const clockDrift = 100 * time.Microsecond

// uncertainty bounds the error of Offset at a moment.
func (r ClockReading) uncertainty(at time.Time) time.Duration {
	return r.Roundtrip/2 + time.Duration(at.Sub(r.OffsetMeasuredAt).Seconds()*float64(clockDrift))
}

// with returns the reading after another measurement: the more exact of the two, so that a slow answer does not shift
// the time. A measurement that contradicts the reading replaces it, since a clock was set.
func (r ClockReading) with(next ClockReading) ClockReading {
	kept, measured := r.uncertainty(next.MeasuredAt), next.uncertainty(next.MeasuredAt)
	// Two right measurements differ by the sum of their errors at most. If they differ by more, somebody has set a
	// clock.
	if measured <= kept || (next.Offset-r.Offset).Abs() > kept+measured {
		return next
	}
	r.MeasuredAt = next.MeasuredAt
	return r
}
