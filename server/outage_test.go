package server_test

import (
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// production sets the default timeouts.
func production(c *config) {
	c.CallTimeout, c.ReadyTimeout, c.db.BatchTimeout, c.db.HoldTimeout = 0, 0, 0, 0
}

// During an outage of the database callers get errors within the deadline, and routes that do not need it still work.
// After the outage everything works again. A stopped server refuses connections; a frozen one does not answer.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(*bundle, *pglocal.Cluster) (end func()){"stopped": stop, "frozen": freeze} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dbtest.NewMigratedCluster(t, pglocal.Options{})
			b := start(t, c.URL("postgres"), production)
			b.untilReady()
			me := b.register("a")
			session, _ := b.seat("alice")
			keys := b.get("/.well-known/jwks.json")

			end := outage(b, c)
			b.requireUnavailable()
			require.Equal(t, keys.body, b.get("/.well-known/jwks.json").body)
			b.get("/.well-known/jwks.json", header("If-None-Match", keys.header.Get("ETag"))).ok(http.StatusNotModified)
			require.Equal(t, http.StatusOK, b.get("/docs").status)

			end()
			b.untilReady()
			b.eventually(func() bool { return b.fleet("heartbeat", me).status == http.StatusOK })
			require.Equal(t, session, b.matchmake("alice", duel).ok(http.StatusOK), "the seat survived")
			b.resolve("alice", session["session_handle"]).ok(http.StatusOK)
		})
	}
}

// A replica starts without the database. Otherwise all replicas would crash in an outage, and be back late after it.
func TestStartDuringDatabaseOutage(t *testing.T) {
	t.Parallel()
	c := dbtest.NewMigratedCluster(t, pglocal.Options{})
	require.NoError(t, c.Stop(t.Context()))
	b := start(t, c.URL("postgres"), production)
	b.requireUnavailable()
	a := b.get("/.well-known/jwks.json")
	a.problem(http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, a.header.Get("Retry-After"))

	require.NoError(t, c.Start(t.Context()))
	b.untilReady()
	b.register("a")
	b.seat("alice")
}

func stop(b *bundle, c *pglocal.Cluster) (end func()) {
	require.NoError(b.t, c.Stop(b.t.Context()))
	return func() { require.NoError(b.t, c.Start(b.t.Context())) }
}

// freeze suspends every process of the server: connections stay open, and nothing answers.
func freeze(b *bundle, c *pglocal.Cluster) (end func()) {
	pids := append(storetest.Values[int](b.store, "SELECT pid FROM pg_stat_activity"), c.PID())
	signal := func(s syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, s) // fails if a backend has ended meanwhile
		}
	}
	signal(syscall.SIGSTOP)
	b.t.Cleanup(func() { signal(syscall.SIGCONT) })
	return func() { signal(syscall.SIGCONT) }
}

// requireUnavailable requires that every call that needs the database gets 503 with a Retry-After, all at the deadline,
// and that other calls work. On a busy machine it may take several attempts.
func (b *bundle) requireUnavailable() {
	b.t.Helper()
	// Probes share the last result for a moment.
	b.eventually(func() bool { return b.get("/readyz").status != http.StatusOK })
	b.eventually(func() bool {
		deadline := b.awaitDeadline()
		start := time.Now()
		b.callDuringOutage()
		took := time.Since(start)
		return took < <-deadline+100*time.Millisecond
	})
	b.get("/healthz").ok(http.StatusOK)
	f := b.get("/readyz").problem(http.StatusServiceUnavailable, "unavailable")
	require.Contains(b.t, f["detail"], "the database cannot be reached")
}

// awaitDeadline returns how long as many calls take that wait for the deadline and then need nothing of the database:
// longer than the deadline, by what this machine is busy.
func (b *bundle) awaitDeadline() <-chan time.Duration {
	took, start := make(chan time.Duration, 1), time.Now()
	var all sync.WaitGroup
	for range len(posts) + 2 {
		r := b.request(http.MethodGet, "/healthz", nil)
		all.Go(func() {
			<-time.After(900 * time.Millisecond)
			if res, err := b.client.Do(r); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	go func() { all.Wait(); took <- time.Since(start) }()
	return took
}

// callDuringOutage makes every call that needs the database, concurrently, and requires 503.
func (b *bundle) callDuringOutage() {
	const id = "eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10"
	calls := []*http.Request{b.request(http.MethodGet, "/readyz", nil), b.request(http.MethodGet, "/sessions/"+id, nil, b.withAllTokens)}
	for path, body := range posts {
		switch path {
		case "/resolve": // A handle that does not parse would be answered without the database.
			body = fields{"session_handle": "eu.AAAAAAAAAAAAAAAAAAAAAAAA"}
		case "/fleet/seats":
			body = body.with("session_id", id)
		}
		calls = append(calls, b.request(http.MethodPost, path, body, b.withAllTokens))
	}
	var all sync.WaitGroup
	for _, r := range calls {
		all.Go(func() {
			res, err := b.client.Do(r)
			if err != nil {
				b.t.Error(err)
				return
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
				b.t.Errorf("%s: %d, Retry-After %q", r.URL.Path, res.StatusCode, res.Header.Get("Retry-After"))
			}
		})
	}
	all.Wait()
}

func (b *bundle) eventually(condition func() bool) {
	b.t.Helper()
	require.Eventually(b.t, condition, wait, tick)
}

func (b *bundle) untilReady() {
	b.t.Helper()
	b.eventually(func() bool { return b.get("/readyz").status == http.StatusOK })
}

// Tokens and leases work on a replica whose clock is minutes off.
func TestReplicaClockMinutesOff(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": 5 * time.Minute, "behind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *config) {
				c.db.PodClock = func() time.Time { return time.Now().Add(off) }
				c.db.Timing = db.DefaultTiming()
			})
			b.untilReady()
			me := b.register("a")
			now := time.Now()
			short := header("Authorization", "Bearer "+b.issuer.Token(fields{"sub": "alice", "nbf": now.Unix(), "exp": now.Add(time.Minute).Unix()}))
			session := b.matchmake("alice", duel, short).ok(http.StatusOK)
			stale := header("Authorization", "Bearer "+b.issuer.Token(fields{"sub": "alice", "exp": now.Add(-time.Minute).Unix()}))
			b.matchmake("alice", duel, stale).problem(http.StatusUnauthorized, "unauthorized")

			claims := claimsOf(t, b.resolve("alice", session["session_handle"]).ok(http.StatusOK)["session_token"].(string))
			require.InDelta(t, time.Now().Unix(), claims["iat"], 10)
			require.InDelta(t, 120, claims["exp"].(float64)-claims["iat"].(float64), 0)
			require.Len(t, b.get("/.well-known/jwks.json").ok(http.StatusOK)["keys"], 2)

			b.store.EndAmnesty()
			b.fleet("heartbeat", me).ok(http.StatusOK)
			b.store.AgeHeartbeats("a", time.Minute)
			b.fleet("heartbeat", me).problem(http.StatusNotFound, "instance_unknown")
		})
	}
}

// A serving replica sends the pulse that starts the expiry of leases: without one, no lease of a new database ever
// expires.
func TestServingStartsLeaseExpiry(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) {
		c.db.Timing = db.DefaultTiming()
		c.db.Timing.LeaseTTL = time.Second
	})
	me := b.register("a")
	b.store.Exec("UPDATE instance_leases SET heartbeat_at = now() - interval '1 hour'")
	b.fleet("heartbeat", me).ok(http.StatusOK) // No lease expires yet.
	b.eventually(func() bool { return b.matchmake("alice", duel).status == http.StatusConflict })
	b.fleet("heartbeat", me).problem(http.StatusNotFound, "instance_unknown")
}
