package bench

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Pins a wrong rate: turns that are lost, due twice, or not evenly spread.
func TestDueTimes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSchedule(time.Unix(1_700_000_000, 0), rapid.Float64Range(1, 1_000_000).Draw(t, "rate"))
		turn := rapid.Int64Range(0, 10_000_000).Draw(t, "turn")
		require.InDelta(t, s.interval, float64(s.dueTime(turn+1).Sub(s.dueTime(turn))), 10)
	})
	s := newSchedule(time.Unix(0, 0), 1000)
	require.Equal(t, time.Second, s.dueTime(1000).Sub(s.start))
	second := s.figures(period{s.start, time.Unix(1, 0)})
	require.EqualValues(t, 1000, second.Missed)
	require.Zero(t, s.figures(period{s.start.Add(-1), s.start}).Missed-second.Missed)
}

// Pins a stall that shows only in the calls in progress, as in a closed loop: all calls that were due during it waited.
func TestOpenLoopSeesAStall(t *testing.T) {
	t.Parallel()
	const stall = 200 * time.Millisecond
	var calls atomic.Int64
	gate := make(chan struct{})
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/noop": func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 10 {
			time.AfterFunc(stall, func() { close(gate) })
		}
		if calls.Load() >= 10 {
			<-gate
		}
		fmt.Fprint(w, `{}`)
	}})
	o := options(d, Find(NoOps, "noop"))
	o.Load.Callers, o.Load.Rate, o.WarmUp, o.Duration = 2, 500, 0, time.Second
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Zero(t, res.Failed)
	require.Equal(t, calls.Load(), res.Calls)
	require.InDelta(t, o.Load.Rate, res.Open.Rate, 0)
	require.InDelta(t, float64(res.Calls), res.Open.Reached, 0.01)
	require.EqualValues(t, 500, res.Calls+res.Open.Missed)
	require.GreaterOrEqual(t, res.Open.Blocked, int64(stall.Seconds()*o.Load.Rate/2))
	require.GreaterOrEqual(t, res.Latency.Max, float64(stall.Milliseconds()))
	require.GreaterOrEqual(t, res.Latency.P90, float64(stall.Milliseconds())/4,
		"a fifth of all calls was due during the stall")
	require.Less(t, res.Open.Delay.P50, float64(stall.Milliseconds())/2, "the generator itself was free")
}

// Pins a run that never ends because the director cannot keep up, and turns that are dropped silently.
func TestOpenLoopEnds(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/noop": func(w http.ResponseWriter, r *http.Request) {
		_ = Pause(r.Context(), 20*time.Millisecond)
		fmt.Fprint(w, `{}`)
	}})
	o := options(d, Find(NoOps, "noop"))
	o.Load.Callers, o.Load.Rate, o.WarmUp, o.Duration = 2, 1000, 100*time.Millisecond, 300*time.Millisecond
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Positive(t, res.Open.Missed)
	require.EqualValues(t, 300, res.Open.Missed+res.Calls)
	require.Less(t, res.Seconds, 5.0)
	require.Less(t, res.Open.Reached, 500.0)
}
