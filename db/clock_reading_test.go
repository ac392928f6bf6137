package db

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The more exact measurement counts, however old it is, until drift makes it the less exact one or another contradicts
// it.
func TestTheMostExactClockReadingCounts(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_000_000, 0)
	kept := ClockReading{Offset: time.Second, Roundtrip: 2 * time.Millisecond, OffsetMeasuredAt: start,
		MeasuredAt: start}
	for name, c := range map[string]struct {
		age, offset, trip time.Duration
		replaced          bool
	}{
		"faster": {time.Second, time.Second, time.Millisecond, true},
		"slower": {time.Second, time.Second + 14*time.Millisecond, 30 * time.Millisecond, false},
		"slower, two minutes later": {2 * time.Minute, time.Second + 14*time.Millisecond, 30 * time.Millisecond,
			false},
		"slower, three minutes later": {3 * time.Minute, time.Second + 14*time.Millisecond, 30 * time.Millisecond,
			true},
		"slower, a clock was set":      {time.Second, time.Minute, 30 * time.Millisecond, true},
		"slower, a clock was set back": {time.Second, 0, 30 * time.Millisecond, true},
	} {
		at := start.Add(c.age)
		next := ClockReading{Offset: c.offset, Roundtrip: c.trip, OffsetMeasuredAt: at, MeasuredAt: at}
		want := next
		if !c.replaced {
			want = kept
			want.MeasuredAt = at
		}
		require.Equal(t, want, kept.combinedWith(next), name)
	}
}
