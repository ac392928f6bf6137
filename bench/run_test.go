package bench

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// Pins turns of another package that are not counted, are counted with their unmeasured work, or run twice at once for
// one caller; and failures that lose their kind.
func TestTurn(t *testing.T) {
	t.Parallel()
	var taken [3]atomic.Int64
	o := Options{URLs: []string{"nowhere"}, Load: Load{Callers: len(taken), Turns: 30, Instances: 7},
		Duration: time.Hour}
	turn := func(ctx context.Context, turn *Caller) error {
		require.NoError(t, ctx.Err())
		require.EqualValues(t, 1, taken[turn.Number].Add(1))
		defer taken[turn.Number].Add(-1)
		before := time.Now()
		require.NoError(t, turn.Unmeasured(func() error { return nil }))
		require.NoError(t, turn.Timed("one", func() error { return nil }))
		if turn.Number == 0 {
			return turn.Timed("two", func() error { return &Failure{"trouble", nil} })
		}
		require.Less(t, time.Since(before), time.Minute)
		return turn.Timed("two", func() error { return errors.New("nameless") })
	}
	ends := []string{}
	o.Scenario = Scenario{Name: "mine", Begin: func(ctx context.Context, job *Job) (TurnFunc, error) {
		job.OnEnd(func(context.Context) error { ends = append(ends, "first"); job.Values["x"] = 5; return nil })
		job.OnEnd(func(ctx context.Context) error { ends = append(ends, "second"); return ctx.Err() })
		job.Beside(ctx, func(ctx context.Context) error { <-ctx.Done(); ends = append(ends, "beside"); return ctx.Err() })
		return turn, nil
	}}
	res := must.Get(Run(t.Context(), o))(t)
	require.Equal(t, "mine", res.Scenario)
	require.EqualValues(t, o.Load.Turns, res.Calls)
	require.Equal(t, res.Calls, res.Failed)
	require.Equal(t, res.Calls, res.Errors["trouble"]+res.Errors["not sent"])
	require.Equal(t, []string{"one", "two"}, []string{res.Steps[0].Step, res.Steps[1].Step})
	require.Zero(t, res.Instances, "the scenario has none")
	require.Equal(t, []string{"beside", "second", "first"}, ends)
	require.Equal(t, map[string]float64{"x": 5}, res.Values)

	o.Scenario.Begin = func(ctx context.Context, job *Job) (TurnFunc, error) {
		job.OnEnd(func(context.Context) error { return errors.New("not ended") })
		job.Beside(ctx, func(context.Context) error { return errors.New("ended by itself") })
		return turn, nil
	}
	_, err := Run(t.Context(), o)
	require.EqualError(t, err, "ended by itself\nnot ended")
	o.Scenario.Begin = func(_ context.Context, job *Job) (TurnFunc, error) {
		job.OnEnd(func(context.Context) error { return errors.New("not ended") })
		return nil, errors.New("not begun")
	}
	_, err = Run(t.Context(), o)
	require.EqualError(t, err, "not begun\nnot ended")
}

// Pins game servers and sessions of a wrong size, a wrong number of turns, and pauses after failed turns although the
// number of turns is given.
func TestSizes(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/matchmake": says(http.StatusConflict, "")})
	o := options(d, Find(Scenarios, "matchmake"))
	o.WarmUp, o.Duration, o.Load.Capacity, o.Load.Players, o.Load.Turns = 0, time.Hour, 40, 5, 1234
	start := time.Now()
	res := must.Get(Run(t.Context(), o))(t)
	require.EqualValues(t, o.Load.Turns, res.Calls)
	require.Equal(t, res.Calls, res.Failed)
	require.Equal(t, []int{40, 5}, []int{d.capacity, d.players})
	require.Less(t, time.Since(start), time.Duration(o.Load.Turns/o.Load.Callers)*failurePause)
}

// Pins a warm-up that is measured.
func TestWarmUpIsNotMeasured(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, nil)
	o := options(d, Find(Scenarios, "matchmake"))
	o.WarmUp, o.Duration = 200*time.Millisecond, time.Nanosecond
	res := must.Get(Run(t.Context(), o))(t)
	require.Greater(t, d.calls["/matchmake"], o.Load.Callers)
	require.LessOrEqual(t, res.Calls, int64(o.Load.Callers))
}

// Pins wrong percentiles: with failures among them, or in another unit.
func TestPercentiles(t *testing.T) {
	t.Parallel()
	s := newSeries()
	for ms := 1; ms <= 1000; ms++ {
		s.add(time.Duration(ms)*time.Millisecond, "")
	}
	s.add(time.Hour, "503 unavailable")
	f := s.figures(2 * time.Second)
	require.EqualValues(t, 1001, f.Calls)
	require.EqualValues(t, 1, f.Failed)
	require.InDelta(t, 500, f.PerSecond, 0)
	for want, got := range map[float64]float64{500: f.Latency.P50, 900: f.Latency.P90, 990: f.Latency.P99,
		999: f.Latency.P999, 1000: f.Latency.Max} {
		require.InEpsilon(t, want, got, 0.002)
	}
	s.add(time.Hour, "") // beyond the histogram's range
	f = s.figures(time.Second)
	require.InEpsilon(t, float64(maxLatency.Milliseconds()), f.Latency.Max, 0.002)
	require.InEpsilon(t, float64(maxLatency.Milliseconds()), f.FailedLatency.P50, 0.002)
}

// Pins failures that count as answers, or that have no distinct kinds.
func TestFailuresAreCountedByKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, kind string
		handler    http.HandlerFunc
	}{
		{"/matchmake", "429 rate_limited", says(429, `{"code":"rate_limited"}`)},
		{"/matchmake", "503 unavailable without Retry-After", says(503, `{"code":"unavailable","detail":"…"}`)},
		{"/matchmake", "502 Bad Gateway", says(502, `<html>`)},
		{"/matchmake", "200 unreadable", says(200, `<html>`)},
		{"/matchmake", "placed on an unknown game server", says(200, `{"session_id":"s","session_handle":"h","endpoint":"elsewhere:1"}`)},
		{"/matchmake", "no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"/resolve", "no token", says(200, `{"session_token":"a.b"}`)},
		{"/fleet/seats", "410 seat_gone", says(200, `{"results":[{"result":"seat_gone","status":410}]}`)},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			o := options(startFakeDirector(t, map[string]http.HandlerFunc{c.path: c.handler}), Find(Scenarios, "session-life"))
			o.WarmUp = 0
			res := must.Get(Run(t.Context(), o))(t)
			require.Positive(t, res.Failed)
			require.Equal(t, res.Calls, res.Failed)
			require.Equal(t, map[string]int64{c.kind: res.Failed}, res.Errors)
			require.Zero(t, res.PerSecond)
			require.Zero(t, res.Latency)
			require.Positive(t, res.FailedLatency.Max)
		})
	}
}

// Pins a run that continues after Ctrl-C, waits for an answer that does not come, or does not deregister its game
// servers.
func TestCancelEndsIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/matchmake": func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}})
	o := options(d, Find(Scenarios, "matchmake"))
	o.Duration = time.Hour
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, d.calls["/fleet/deregister"])
}
