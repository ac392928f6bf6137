package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// driven is a running worker whose pauses end with a tick, and whose results the test receives.
type driven struct {
	tick    chan struct{}
	results chan result
	stop    func() // returns when the loop has ended
}

func drive(t *testing.T, w *Worker) driven {
	t.Helper()
	d := driven{tick: make(chan struct{}), results: make(chan result)}
	ctx, cancel := context.WithCancel(t.Context())
	for _, l := range w.loops {
		l.onResult = func(r result) {
			select {
			case d.results <- r:
			case <-ctx.Done():
			}
		}
		l.waitForNext = func(ctx context.Context, _ time.Duration) bool {
			select {
			case <-d.tick:
				return true
			case <-ctx.Done():
				return false
			}
		}
	}
	ended := make(chan struct{})
	go func() { w.Run(ctx); close(ended) }()
	d.stop = func() { cancel(); <-ended }
	t.Cleanup(d.stop)
	return d
}

func only(t *testing.T, o Options, name string) *Worker {
	t.Helper()
	return &Worker{loops: []*loop{loopOf(t, o, name)}}
}

// Pins a worker that ends, or never succeeds again, because the database was unavailable for a while.
func TestWorkerSurvivesAnUnavailableDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	proxy := dbtest.NewProxy(t, b.URL, nil)
	var log bytes.Buffer
	o := b.options()
	o.Store, o.Log = storetest.Open(t, proxy.URL), slog.New(slog.NewTextHandler(&log, nil))
	d := drive(t, only(t, o, "reap"))
	require.NoError(t, (<-d.results).err)

	proxy.Shut()
	var pauses []time.Duration
	for range 4 {
		d.tick <- struct{}{}
		r := <-d.results
		require.True(t, fault.Is(r.err, fault.Unavailable), "%v", r.err)
		pauses = append(pauses, r.nextPause)
	}
	require.Greater(t, pauses[3], pauses[0], "pauses grow while the database is unavailable")

	b.expireLeases("eu")
	b.EndAmnesty()
	proxy.Open()
	d.tick <- struct{}{}
	r := <-d.results
	require.NoError(t, r.err)
	require.Equal(t, Done{"instances": 1}, r.doneCounts)
	require.InDelta(t, time.Second, r.nextPause, float64(100*time.Millisecond), "back to its interval")
	d.stop()
	require.Contains(t, log.String(), "works again")
	require.Less(t, strings.Count(log.String(), "failing"), 4, "one line for each change, not for each run")
}

// Pins a pause that grows without bound, so that a worker sleeps for hours after an outage of hours.
func TestRetryPausesAreBounded(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*loop{"often": {interval: time.Second}, "rarely": {interval: 10 * time.Minute}} {
		retry := l.retryPauses()
		require.Less(t, retry.NextBackOff(), 2*time.Second, name)
		var longest time.Duration
		for range 1000 {
			longest = max(longest, retry.NextBackOff())
		}
		require.LessOrEqual(t, longest, max(l.interval, 10*time.Second)*3/2, name)
		require.Positive(t, retry.NextBackOff(), name)
	}
}

// Pins a panic in one loop that ends the process, and with it every other loop.
func TestAPanicEndsOneRunOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	registry := prometheus.NewRegistry()
	var log bytes.Buffer
	o := b.options()
	o.Metrics, o.Log = registry, slog.New(slog.NewTextHandler(&log, nil))
	w := only(t, o, "reap")
	runs := 0
	w.loops[0].runOnce = func(context.Context) (Done, error) {
		if runs++; runs == 1 {
			panic("a bug")
		}
		return Done{"instances": 3}, nil
	}
	d := drive(t, w)
	require.ErrorContains(t, (<-d.results).err, "panic: a bug")
	d.tick <- struct{}{}
	require.Equal(t, Done{"instances": 3}, (<-d.results).doneCounts)
	d.stop()

	require.Contains(t, log.String(), "a bug")
	require.Contains(t, log.String(), "instances=3")
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page,
		httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`director_worker_runs_total{loop="reap",result="failed"} 1`,
		`director_worker_runs_total{loop="reap",result="ok"} 1`,
		`director_worker_run_seconds_count{loop="reap"} 2`,
		`director_worker_done_total{loop="reap",what="instances"} 3`,
	} {
		require.Contains(t, page.Body.String(), line)
	}
}

// Pins a log that grows by a line a second while nothing happens.
func TestIdleRunsAreNotLogged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var log bytes.Buffer
	o := b.options()
	o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	d := drive(t, only(t, o, "reap"))
	require.Empty(t, (<-d.results).doneCounts)
	d.stop()
	require.Empty(t, log.String())
}

// Pins a worker that outlives its context, or that ends while a loop of it still runs.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w, err := New(b.options())
	require.NoError(t, err)
	running := make(chan struct{})
	stuck := w.loops[0]
	stuck.runOnce = func(ctx context.Context) (Done, error) {
		close(running)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { w.Run(ctx); close(ended) }()
	<-running
	cancel()
	<-ended
}

// Pins a step that hangs and so stops its loop for good.
func TestARunIsBoundedInTime(t *testing.T) {
	t.Parallel()
	l := loopOf(t, setup(t).options(), "reap")
	l.runTimeout = time.Millisecond
	l.runOnce = func(ctx context.Context) (Done, error) { <-ctx.Done(); return nil, ctx.Err() }
	require.ErrorIs(t, l.attemptRun(t.Context()).err, context.DeadlineExceeded)
}

// Pins an error in one region because of which no later region is handled.
func TestEachRegionGetsItsTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, region := range []string{"eu", "us", "za"} {
		b.AddServer(region+"-1", 8, storetest.InRegion(region))
	}
	turns := func(err error) (seen []string) {
		got := eachRegion(t.Context(), b.Regions, func(region string) error { seen = append(seen, region); return err })
		require.ErrorIs(t, got, err)
		return seen
	}
	require.Equal(t, []string{"eu", "us", "za"}, turns(errors.New("a bug")))
	require.Equal(t, []string{"eu"}, turns(&fault.Error{Kind: fault.Unavailable}))
}

func TestNewRefusesMissingOptions(t *testing.T) {
	t.Parallel()
	_, err := New(Options{})
	require.Error(t, err)
	registry := prometheus.NewRegistry()
	o := setup(t).options()
	o.Metrics = registry
	_, err = New(o)
	require.NoError(t, err)
	_, err = New(o)
	require.ErrorContains(t, err, "metrics", "two workers cannot share a registry")
}
