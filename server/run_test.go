package server_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/certtest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/telemetry"
)

// stoppable starts a replica that the test stops itself.
func stoppable(t *testing.T, change ...func(*config)) (b *bundle, stop func(), stopped <-chan error) {
	t.Helper()
	b = listen(t, dbtest.New(t), change...)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- b.server.Run(ctx) }()
	b.untilReady()
	return b, cancel, done
}

// A stopping replica first fails its readiness and still serves, until load balancers have noticed.
func TestStoppingFailsReadinessFirst(t *testing.T) {
	t.Parallel()
	b, stop, stopped := stoppable(t, func(c *config) { c.DrainDelay = 2 * time.Second })
	b.register("a")
	stop()
	b.eventually(func() bool { return b.get("/readyz").status == http.StatusServiceUnavailable })
	a := b.get("/readyz")
	a.problem(http.StatusServiceUnavailable, "draining")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	b.matchmake("alice", duel).ok(http.StatusOK)
	b.get("/healthz").ok(http.StatusOK)
	require.NoError(t, <-stopped)
	require.False(t, b.accepts())
}

// A stopping replica waits for calls in flight.
func TestStoppingWaitsForCalls(t *testing.T) {
	t.Parallel()
	b, stop, stopped := stoppable(t)
	release := b.store.Hold("LOCK TABLE instance_directory IN ACCESS EXCLUSIVE MODE")
	slow := make(chan answer, 1)
	go func() { slow <- b.fleet("register", registration("a")) }()
	b.store.AwaitBlocked(1)
	stop()
	b.eventually(func() bool { return !b.accepts() })
	release()
	(<-slow).ok(http.StatusOK)
	require.NoError(t, <-stopped)
}

// A stopping replica cuts off calls that do not end within the shutdown timeout.
func TestStoppingCutsOffAfterTheTimeout(t *testing.T) {
	t.Parallel()
	b, stop, stopped := stoppable(t, func(c *config) { c.ShutdownTimeout = 200 * time.Millisecond })
	release := b.store.Hold("LOCK TABLE instance_directory IN ACCESS EXCLUSIVE MODE")
	cut := make(chan error, 1)
	r := b.request(http.MethodPost, "/fleet/register", registration("a"), b.withAllTokens)
	go func() {
		res, err := b.client.Do(r)
		if err == nil {
			err = res.Body.Close()
		}
		cut <- err
	}()
	b.store.AwaitBlocked(1)
	stop()
	require.ErrorContains(t, <-stopped, "cut off")
	require.Error(t, <-cut)
	release()
}

func (b *bundle) accepts() bool {
	conn, err := net.Dial("tcp", b.server.Addr().String())
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// Run returns when its listener fails, and when its address is already in use.
func TestAListenerThatFails(t *testing.T) {
	t.Parallel()
	b, _, stopped := stoppable(t)
	require.NoError(t, b.config.Listener.Close())
	require.Error(t, <-stopped)

	taken := webtest.Listen(t)
	defer taken.Close()
	other := &bundle{t: t, log: new(logtest.Buffer), issuer: b.issuer, config: defaults(t, b.config.db.URL)}
	require.NoError(t, other.config.Listener.Close())
	other.config.Listener, other.config.Addr = nil, taken.Addr().String()
	other.open()
	require.Error(t, other.server.Run(t.Context()))
}

// The metrics exist, pass Prometheus's checks, and are served on their own listener only.
func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	metrics, err := telemetry.New(registry, "1.2.3")
	require.NoError(t, err)
	b := setup(t, func(c *config) {
		c.Metrics, c.db.Observer, c.MetricsListener = metrics, metrics, webtest.Listen(t)
	})
	b.register("a")
	b.seat("alice")
	b.eventually(func() bool { return metrics.SampleSnapshot(t.Context(), b.store) == nil })

	text := webtest.Send(t, http.DefaultClient, webtest.Request(t, http.MethodGet, "http://"+b.server.MetricsAddr().String()+"/metrics", nil)).Body
	for _, line := range []string{
		`director_http_requests_total{method="POST",route="/matchmake",status="200"} 1`,
		`director_group_calls_count{group="placement"} 1`, `director_group_wait_seconds_count{group="resolve"} 1`,
		"director_signing_keys_published 2", "director_db_connections_max 8", `director_build_info{go="go1.`, `version="1.2.3"} 1`,
		"director_clock_offset_seconds ", "director_oldest_snapshot_age_seconds ", "director_signing_key_turn_seconds 86", "go_goroutines ",
	} {
		require.Contains(t, text, line)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Contains(t, webtest.Send(t, http.DefaultClient, webtest.Request(t, http.MethodGet, "http://"+b.server.MetricsAddr().String()+"/debug/pprof/", nil)).Body, "goroutine")
	require.Equal(t, http.StatusNotFound, b.get("/metrics").status, "not on the public listener")
	require.Nil(t, setup(t).server.MetricsAddr(), "not by default")
}

// With a certificate the API speaks TLS and HTTP/2.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	authority.Issue("director")
	cert, key := authority.File("director.pem"), authority.File("director.key")
	b := setup(t, func(c *config) { c.TLSCert, c.TLSKey = cert, key })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool, ServerName: "director"}, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	res, err := client.Get("https://" + b.server.Addr().String() + "/healthz")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 2, res.ProtoMajor)
}
