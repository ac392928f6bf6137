package proof

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// steady has 100 calls a second, except for 40 in the ten seconds from the 20th on.
func steady() *course {
	c := &course{}
	calls := 0.0
	for at := time.Duration(0); at <= time.Minute; at += 200 * time.Millisecond {
		c.at, c.calls = append(c.at, at), append(c.calls, calls)
		if calls += 20; at >= 20*time.Second && at < 30*time.Second {
			calls -= 12
		}
	}
	return c
}

// Pins a slow period that is hidden by fast ones before and after it, or found where there is none.
func TestCourse(t *testing.T) {
	t.Parallel()
	c := steady()
	for _, w := range []struct {
		from, to time.Duration
		rate     float64
	}{{0, 20 * time.Second, 100}, {20 * time.Second, 30 * time.Second, 40}, {15 * time.Second, 25 * time.Second, 70}, {31 * time.Second, time.Minute, 100}, {100 * time.Millisecond, 1100 * time.Millisecond, 100}} {
		require.InDelta(t, w.rate, c.rate(w.from, w.to), 1e-6, w)
	}
	require.InDelta(t, 40, c.lowest(0, time.Minute, 10*time.Second), 1e-6)
	require.InDelta(t, 40, c.lowest(10*time.Second, 40*time.Second, 5*time.Second), 1e-6)
	require.InDelta(t, 100, c.lowest(30*time.Second, time.Minute, 10*time.Second), 1e-6)
	require.True(t, math.IsNaN(c.rate(time.Minute, 2*time.Minute)), "nobody knows")
	require.True(t, math.IsNaN(c.lowest(0, time.Second, 2*time.Second)))
}

// Pins a course that counts calls of the warm-up, or reports the end of the warm-up twice.
func TestCourseFollows(t *testing.T) {
	t.Parallel()
	var c course
	begun := make(chan struct{})
	follow := c.follow(2*time.Second, begun)
	for _, p := range []bench.Progress{{}, {Elapsed: time.Second, Total: 5 * time.Second}, {Elapsed: 2 * time.Second, Total: 5 * time.Second}, {Elapsed: 3 * time.Second, Total: 5 * time.Second, Calls: 7}} {
		follow(p)
	}
	<-begun
	require.Equal(t, course{[]time.Duration{0, time.Second}, []float64{0, 7}}, c)
}

// Pins a slow-down by a snapshot that is measured by its mean, and a recovery that is measured too early.
func TestForgotten(t *testing.T) {
	t.Parallel()
	times := forgetting{begin: 10 * time.Second, end: 35 * time.Second, over: 60 * time.Second, window: 10 * time.Second, step: time.Second, recovery: 10 * time.Second}
	found := steady().forgotten("throughput", times, bench.Result{})
	require.Equal(t, []string{"40.0 %", "100.0 %", "0"}, []string{found[0].Value, found[1].Value, found[2].Value})
	require.Equal(t, []bool{false, true, true}, []bool{found[0].Met, found[1].Met, found[2].Met})
	require.Contains(t, found[0].Note, "100/s before, 40/s at the lowest, 76/s in the mean")
}
