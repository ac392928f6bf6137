package match

import (
	"cmp"
	"math"
	"time"
)

// Moment is a point in time as the wire has it (google.protobuf.Timestamp): seconds since 1970 in UTC, and the
// nanoseconds after that second. It is finer than Postgres's timestamptz and reaches further than 64 bits of nanoseconds.
type Moment struct {
	Seconds int64
	Nanos   int32
}

// MomentOf gives the moment of a time.
func MomentOf(t time.Time) Moment { return Moment{t.Unix(), int32(t.Nanosecond())} }

// The years that the wire allows are 1 to 9999.
const (
	firstSecond = -62135596800
	lastSecond  = 253402300799
)

// Valid tells whether the moment lies in the years 1 to 9999, with 0 to 999,999,999 nanoseconds.
func (m Moment) Valid() bool {
	return m.Seconds >= firstSecond && m.Seconds <= lastSecond && m.Nanos >= 0 && m.Nanos < 1e9
}

// Before tells whether m is strictly before o. Both are valid.
func (m Moment) Before(o Moment) bool {
	return cmp.Or(cmp.Compare(m.Seconds, o.Seconds), cmp.Compare(m.Nanos, o.Nanos)) < 0
}

// UnixNano gives nanoseconds since 1970, for a store that compares numbers. What 64 bits do not reach, before 21 September
// 1677 or after 11 April 2262, gives the least or the greatest number: nothing is created there, so that as a bound it
// decides the same.
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
