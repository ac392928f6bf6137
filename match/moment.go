package match

import (
	"cmp"
	"math"
	"time"
)

// Moment is a point in time in the form of google.protobuf.Timestamp: seconds since 1970 in UTC, and the nanoseconds
// after that second. It has a higher resolution than Postgres's timestamptz and a larger range than 64 bits of
// nanoseconds.
type Moment struct {
	Seconds int64
	Nanos   int32
}

// MomentOf converts a time.
func MomentOf(t time.Time) Moment { return Moment{t.Unix(), int32(t.Nanosecond())} }

// The protocol allows the years 1 to 9999.
const (
	firstSecond = -62135596800
	lastSecond  = 253402300799
)

// Valid reports whether the moment is in the years 1 to 9999 and has 0 to 999,999,999 nanoseconds.
func (m Moment) Valid() bool {
	return m.Seconds >= firstSecond && m.Seconds <= lastSecond && m.Nanos >= 0 && m.Nanos < 1e9
}

// Before reports whether m is strictly before o. Both must be valid.
func (m Moment) Before(o Moment) bool {
	return cmp.Or(cmp.Compare(m.Seconds, o.Seconds), cmp.Compare(m.Nanos, o.Nanos)) < 0
}

// UnixNano returns nanoseconds since 1970, for a store that compares numbers. Moments beyond the range of 64 bits,
// before 21 September 1677 or after 11 April 2262, become the lowest or highest number. No ticket is created at such
// times, so as bounds they decide the same.
func (m Moment) UnixNano() int64 {
	const reach = math.MaxInt64 / 1_000_000_000
	switch {
	case m.Seconds < -reach:
		return math.MinInt64
	case m.Seconds >= reach:
		return math.MaxInt64
	}
	return m.Seconds*1e9 + int64(m.Nanos)
}
