package rest_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/server/rest"
)

// Whatever the pattern of calls, a key gets its burst and then its rate, and is told how long to wait.
func TestLimiterHoldsTheRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rate := rest.Rate{
			PerSecond: rapid.Float64Range(.1, 1000).Draw(rt, "rate"),
			Burst:     rapid.IntRange(1, 20).Draw(rt, "burst"),
		}
		pauses := rapid.SliceOfN(rapid.IntRange(-1, 20), 1, 30).Draw(rt, "pauses") // in ms; -1 is as long as told
		var excess float64
		var lied bool
		synctest.Test(t, func(*testing.T) { excess, lied = exceeds(rate, pauses) })
		require.LessOrEqual(rt, excess, .01)
		require.False(rt, lied, "waiting as told is enough")
	})
}

// exceeds calls a limiter after each pause and returns by how many calls it ever allowed too much, and whether a call
// after the wait it asked for was refused.
func exceeds(rate rest.Rate, pauses []int) (excess float64, lied bool) {
	l, start, allowed := rest.NewLimiter(rate), time.Now(), 0.0
	var wait time.Duration
	for _, pause := range pauses {
		obeys := pause < 0 && wait > 0
		if !obeys {
			wait = time.Duration(max(0, pause)) * time.Millisecond
		}
		<-time.After(wait)
		if wait = l.Take("key"); wait == 0 {
			allowed++
		}
		lied = lied || obeys && wait > 0
		excess = max(excess, allowed-float64(rate.Burst)-time.Since(start).Seconds()*rate.PerSecond)
	}
	return excess, lied
}

// Callers on several cores must not multiply the budget.
func TestLimiterCountsUnderConcurrency(t *testing.T) {
	t.Parallel()
	l := rest.NewLimiter(rest.Rate{PerSecond: 1e-6, Burst: 1000})
	var allowed atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 500 {
				if l.Take("key") == 0 {
					allowed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 1000, allowed.Load())
}

// Memory is bounded: whoever comes with more keys than are remembered refuses nobody.
func TestLimiterForgetsTheSilent(t *testing.T) {
	t.Parallel()
	l := rest.NewLimiter(rest.Rate{PerSecond: 1e-6, Burst: 1})
	require.Zero(t, l.Take("first"))
	require.Positive(t, l.Take("first"))
	for i := range 100_000 {
		require.Zero(t, l.Take("abuser"+strconv.Itoa(i)))
	}
	require.Zero(t, l.Take("player"))
	require.Zero(t, l.Take("first"), "forgotten")
	require.Positive(t, l.Take("player"), "remembered")
}

func TestZeroRateSetsNoLimit(t *testing.T) {
	t.Parallel()
	l := rest.NewLimiter(rest.Rate{})
	for range 1000 {
		require.Zero(t, l.Take("key"))
	}
}

// More requests than the pool will ever serve in time only make all of them late.
func TestGate(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	entered, leave := make(chan struct{}), make(chan struct{})
	wait := func(context.Context, rest.In[rest.None]) (rest.None, error) {
		entered <- struct{}{}
		<-leave
		return rest.None{}, nil
	}
	calls := b.Group("/calls", rest.NewGate(2, nil, nil).Enter)
	calls.GET("/a", rest.Handle(http.StatusOK, wait))
	calls.GET("/b", rest.Handle(http.StatusOK, wait))

	var callers sync.WaitGroup
	for _, path := range []string{"/calls/a", "/calls/b"} {
		callers.Go(func() { b.get(path) })
		<-entered
	}
	w := b.get("/calls/a")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, "unavailable", problem(t, w).Code)
	require.Equal(t, http.StatusOK, b.post(with(`"seats":1`)).Code, "other routes have their own")

	close(leave)
	callers.Wait()
	callers.Go(func() { <-entered })
	require.Equal(t, http.StatusOK, b.get("/calls/a").Code, "places are given back, refused ones too")
	callers.Wait()
}

// Who is refused early is told the same as by the handlers, and takes no place; pages, which have to be let read the
// answer, and other routes pass on.
func TestGuard(t *testing.T) {
	t.Parallel()
	reg, lines := prometheus.NewRegistry(), new(bytes.Buffer)
	m, err := rest.NewMetrics(reg)
	require.NoError(t, err)
	g := rest.NewGate(1, m, slog.New(slog.NewTextHandler(lines, nil)))
	entered, leave := make(chan struct{}), make(chan struct{})
	b := setup(t, rest.Options{})
	b.GET("/calls/a", g.Enter, rest.Handle(http.StatusOK, func(context.Context, rest.In[rest.None]) (rest.None, error) {
		entered <- struct{}{}
		<-leave
		return rest.None{}, nil
	}))
	guarded := g.Guard(b, func(r *http.Request) bool { return r.URL.Path == "/calls/a" })
	serve := func(change ...func(*http.Request)) *httptest.ResponseRecorder {
		r, w := request(http.MethodGet, "/calls/a", ""), httptest.NewRecorder()
		for _, f := range change {
			f(r)
		}
		guarded.ServeHTTP(w, r)
		return w
	}
	var caller sync.WaitGroup
	caller.Go(func() { require.Equal(t, http.StatusOK, serve().Code) })
	<-entered

	early, late := serve(), b.get("/calls/a")
	require.Equal(t, http.StatusServiceUnavailable, early.Code)
	told, said := problem(t, early), problem(t, late)
	require.Equal(t, early.Header().Get("X-Request-Id"), told.RequestID)
	said.RequestID = told.RequestID
	require.Equal(t, said, told)
	for _, name := range []string{"Retry-After", "Content-Type", "Cache-Control"} {
		require.Equal(t, late.Header()[name], early.Header()[name], name)
	}
	require.Equal(t, []string{"mine"}, serve(func(r *http.Request) { r.Header.Set("X-Request-Id", "mine") }).Header()["X-Request-Id"])
	require.Equal(t, http.StatusServiceUnavailable, serve(func(r *http.Request) { r.Header.Set("Origin", "https://play.example") }).Code)
	require.Equal(t, http.StatusNotFound, serve(func(r *http.Request) { r.URL.Path = "/elsewhere" }).Code)
	require.Equal(t, 2.0, value(t, reg, "director_http_requests_total"))
	require.Equal(t, 1, strings.Count(lines.String(), "limit=1"), "one line a second")

	close(leave)
	caller.Wait()
	caller.Go(func() { <-entered })
	require.Equal(t, http.StatusOK, serve().Code)
	caller.Wait()
}

// A panic that kept its place would, after n of them, close the door for good.
func TestGateAfterPanics(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.GET("/panic", rest.NewGate(1, nil, nil).Enter, rest.Handle(http.StatusOK, func(context.Context, rest.In[rest.None]) (rest.None, error) {
		panic("boom")
	}))
	for range 3 {
		require.Equal(t, http.StatusInternalServerError, b.get("/panic").Code)
	}
}

func TestZeroSetsNoBoundAndNoDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{}, rest.NewGate(0, nil, nil).Enter, rest.Deadline(0))
	require.Equal(t, http.StatusOK, b.post(with(`"seats":1`)).Code)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m, err := rest.NewMetrics(reg)
	require.NoError(t, err)
	b := setup(t, rest.Options{Metrics: m}).fails(context.Canceled)
	b.GET("/sessions/:id", rest.Handle(http.StatusOK, func(context.Context, rest.In[rest.None]) (rest.None, error) {
		require.Equal(t, 1.0, value(t, reg, "director_http_requests_in_flight"))
		panic("boom")
	}))
	for i := range 10 {
		b.get("/sessions/" + strconv.Itoa(i))
		b.get("/nothing/" + strconv.Itoa(i))
		b.serve(request("M"+strconv.Itoa(i), "/join", ""))
	}
	b.get("/fail")
	require.Equal(t, 0.0, value(t, reg, "director_http_requests_in_flight"))
	require.Equal(t, 31.0, value(t, reg, "director_http_requests_total"))
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Len(t, families, 3)
	for _, f := range families {
		require.LessOrEqual(t, len(f.GetMetric()), 4, "strangers must not make new series")
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)

	_, err = rest.NewMetrics(reg)
	require.Error(t, err, "registered twice")
}

// value sums the series of a counter or gauge.
func value(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}
