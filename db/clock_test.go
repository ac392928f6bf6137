package db_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// podClock is a pod's clock of which a test scripts the next readings, so that it decides how long a round trip takes
// and when in it the database was read.
type podClock struct {
	mu     sync.Mutex
	off    time.Duration // from this machine's clock
	script []time.Duration
}

func (c *podClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now().Add(c.off)
	if len(c.script) > 0 {
		at, c.script = at.Add(c.script[0]), c.script[1:]
	}
	return at
}

// measure compares the clocks, in a round trip whose request and answer take so long.
func (c *podClock) measure(t *testing.T, s *db.Store, request, answer time.Duration) {
	t.Helper()
	c.mu.Lock()
	c.script = []time.Duration{-request, answer}
	c.mu.Unlock()
	require.NoError(t, s.ReadClock(t.Context()))
}

func (c *podClock) set(off time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
}

// Pins times shifted by half of a slow round trip, such as those of a match that was assigned before its ticket was
// created.
func TestSlowReadingsDoNotShiftTheClock(t *testing.T) {
	t.Parallel()
	c := &podClock{off: time.Minute}
	b := setup(t, func(cfg *db.Config) { cfg.PodClock = c.now })
	requireCorrected := func(why string) {
		t.Helper()
		require.WithinDuration(t, time.Now(), b.Now(), 200*time.Millisecond, why)
	}
	c.measure(t, b.Store, 0, 0)
	requireCorrected("a fast round trip")
	c.measure(t, b.Store, 0, 1500*time.Millisecond)
	requireCorrected("a slow answer")
	c.measure(t, b.Store, 1500*time.Millisecond, 0)
	requireCorrected("a slow request")
	reading, ok := b.LatestClockReading()
	require.True(t, ok)
	require.WithinDuration(t, c.now(), reading.MeasuredAt, time.Second, "the clocks were compared just now")

	c.set(2 * time.Minute)
	c.measure(t, b.Store, 50*time.Millisecond, 50*time.Millisecond)
	requireCorrected("somebody set the clock")
}
