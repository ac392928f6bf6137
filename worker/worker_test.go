package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// driven runs a loop whose pauses end with a tick, and gives what it reports.
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
		l.seen = func(r result) {
			select {
			case d.results <- r:
			case <-ctx.Done():
			}
		}
		l.pause = func(ctx context.Context, _ time.Duration) bool {
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

// Pins a worker that ends, or never works again, because the database was away for a while.
func TestWorkerSurvivesAnAwayDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("eu", "eu-1", 8)
	door := newDoor(t, b.url)
	var log bytes.Buffer
	o := b.options()
	o.Store, o.Log = b.replica(door.url), slog.New(slog.NewTextHandler(&log, nil))
	d := drive(t, only(t, o, "reap"))
	require.NoError(t, (<-d.results).err)

	door.shut()
	var pauses []time.Duration
	for range 4 {
		d.tick <- struct{}{}
		r := <-d.results
		require.True(t, db.IsKind(r.err, db.Unavailable), "%v", r.err)
		pauses = append(pauses, r.next)
	}
	require.Greater(t, pauses[3], pauses[0], "it does not hammer on a database that is away")

	b.silence("eu")
	b.steady()
	door.open()
	d.tick <- struct{}{}
	r := <-d.results
	require.NoError(t, r.err)
	require.Equal(t, Done{"instances": 1}, r.done)
	require.InDelta(t, time.Second, r.next, float64(100*time.Millisecond), "back to its interval")
	d.stop()
	require.Contains(t, log.String(), "works again")
	require.Less(t, strings.Count(log.String(), "failing"), 4, "a line for a change, not one for each run")
}

// Pins a pause that grows without end, so that a worker sleeps for hours after an outage of hours.
func TestRetriesGrowToAnEnd(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*loop{"often": {every: time.Second}, "rarely": {every: 10 * time.Minute}} {
		retry := l.retries()
		require.Less(t, retry.NextBackOff(), 2*time.Second, name)
		var longest time.Duration
		for range 1000 {
			longest = max(longest, retry.NextBackOff())
		}
		require.LessOrEqual(t, longest, max(l.every, 10*time.Second)*3/2, name)
		require.Positive(t, retry.NextBackOff(), name)
	}
}

// Pins a panic in one loop that takes the process, and with it every other loop, down.
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
	require.Equal(t, Done{"instances": 3}, (<-d.results).done)
	d.stop()

	require.Contains(t, log.String(), "a bug")
	require.Contains(t, log.String(), "instances=3")
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
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
	require.Empty(t, (<-d.results).done)
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

// Pins one step that hangs and stops its loop for good.
func TestARunIsBoundedInTime(t *testing.T) {
	t.Parallel()
	l := loopOf(t, setup(t).options(), "reap")
	l.timeout = time.Millisecond
	l.runOnce = func(ctx context.Context) (Done, error) { <-ctx.Done(); return nil, ctx.Err() }
	require.ErrorIs(t, l.attempt(t.Context()).err, context.DeadlineExceeded)
}

// Pins a region that cannot be worked on keeping all others from their turn.
func TestEachRegionGetsItsTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, region := range []string{"eu", "us", "za"} {
		b.register(region, region+"-1", 8)
	}
	turns := func(err error) (seen []string) {
		got := eachRegion(t.Context(), b.Regions, func(region string) error { seen = append(seen, region); return err })
		require.ErrorIs(t, got, err)
		return seen
	}
	require.Equal(t, []string{"eu", "us", "za"}, turns(errors.New("a bug")))
	require.Equal(t, []string{"eu"}, turns(&db.Error{Kind: db.Unavailable}))
}

func TestNewWantsWhatItCannotDoWithout(t *testing.T) {
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

// door is a way to the database that can be shut.
type door struct {
	t        *testing.T
	url      string
	network  string
	upstream string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newDoor(t *testing.T, database string) *door {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(database)
	require.NoError(t, err)
	d := &door{t: t}
	d.network, d.upstream = "tcp", net.JoinHostPort(cfg.ConnConfig.Host, strconv.Itoa(int(cfg.ConnConfig.Port)))
	if strings.HasPrefix(cfg.ConnConfig.Host, "/") {
		d.network, d.upstream = "unix", cfg.ConnConfig.Host+"/.s.PGSQL."+strconv.Itoa(int(cfg.ConnConfig.Port))
	}
	d.listen("127.0.0.1:0")
	user := url.UserPassword(cfg.ConnConfig.User, cfg.ConnConfig.Password)
	d.url = (&url.URL{
		Scheme: "postgres", User: user, Host: d.listener.Addr().String(), Path: cfg.ConnConfig.Database, RawQuery: "sslmode=disable",
	}).String()
	t.Cleanup(d.shut)
	return d
}

func (d *door) listen(address string) {
	listener, err := new(net.ListenConfig).Listen(d.t.Context(), "tcp4", address)
	require.NoError(d.t, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listener = listener
	go d.serve(listener)
}

func (d *door) open() { d.listen(d.listener.Addr().String()) }

func (d *door) serve(listener net.Listener) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		out, err := new(net.Dialer).DialContext(context.Background(), d.network, d.upstream)
		if err != nil {
			_ = in.Close()
			continue
		}
		d.mu.Lock()
		d.conns = append(d.conns, in, out)
		d.mu.Unlock()
		go pipe(in, out)
		go pipe(out, in)
	}
}

func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

// shut ends every connection and takes no new ones.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.listener.Close()
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}
