package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/db/pglocal"
	"github.com/lattice-director/director/migrations"
)

// cluster starts a Postgres that a test may take away.
func cluster(t *testing.T) *pglocal.Cluster {
	t.Helper()
	c := dbtest.NewCluster(t, pglocal.Options{})
	_, err := migrations.Up(t.Context(), c.URL("postgres"), nil)
	require.NoError(t, err)
	return c
}

// production has the limits that an operator gets who sets none.
func production(c *config) {
	c.CallTimeout, c.ReadyTimeout, c.db.FlightTimeout, c.db.HoldTimeout = 0, 0, 0, 0
}

// Pins an outage of the database that takes down what does not need it, that makes callers wait, or that leaves
// something broken behind. Away is away: a server that is gone says so at once, one that is frozen says nothing at all.
func TestTheDatabaseGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(*bundle, *pglocal.Cluster) (end func()){"stopped": stop, "frozen": freeze} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t)
			b := start(t, c.URL("postgres"), production)
			b.untilReady()
			me := b.register("a")
			session, _ := b.seat("alice")
			keys := b.get("/.well-known/jwks.json")

			end := outage(b, c)
			b.requireAway()
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

// Pins a replica that needs the database to start: all of them would crash in an outage, and start late after it.
func TestTheDatabaseIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	require.NoError(t, c.Stop(t.Context()))
	b := start(t, c.URL("postgres"), production)
	b.requireAway()
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

// freeze stops every process of the server where it stands: connections stay open, and nobody answers.
func freeze(b *bundle, c *pglocal.Cluster) (end func()) {
	pids := []int{c.PID()}
	found, err := b.store.Pool().Query(b.t.Context(), "SELECT pid FROM pg_stat_activity")
	require.NoError(b.t, err)
	for found.Next() {
		var pid int
		require.NoError(b.t, found.Scan(&pid))
		pids = append(pids, pid)
	}
	require.NoError(b.t, found.Err())
	signal := func(s syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, s) // a backend may have ended meanwhile
		}
	}
	signal(syscall.SIGSTOP)
	b.t.Cleanup(func() { signal(syscall.SIGCONT) })
	return func() { signal(syscall.SIGCONT) }
}

// requireAway wants every call refused within a second, with the word when to come back, and everything else served.
// On a machine that is busy with other tests it may take more than one look to see it done in time.
func (b *bundle) requireAway() {
	b.t.Helper()
	b.eventually(func() bool { return b.get("/readyz").status != http.StatusOK }) // the answer before it may be shared for a moment
	b.eventually(func() bool {
		begun := time.Now()
		b.allAway()
		return time.Since(begun) < time.Second
	})
	b.get("/healthz").ok(http.StatusOK)
	f := b.get("/readyz").problem(http.StatusServiceUnavailable, "unavailable")
	require.Contains(b.t, f["detail"], "the database cannot be reached")
}

// allAway asks for everything that needs the database, all at once.
func (b *bundle) allAway() {
	const id = "eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10"
	calls := []*http.Request{b.request(http.MethodGet, "/readyz", nil), b.request(http.MethodGet, "/sessions/"+id, nil, b.anybody)}
	for path, body := range posts {
		switch path {
		case "/resolve": // what does not parse needs no database
			body = fields{"session_handle": "eu.AAAAAAAAAAAAAAAAAAAAAAAA"}
		case "/fleet/seats":
			body = body.with("session_id", id)
		}
		calls = append(calls, b.request(http.MethodPost, path, body, b.anybody))
	}
	var all sync.WaitGroup
	for _, r := range calls {
		all.Go(func() {
			if err := b.refusedForNow(r); err != nil {
				b.t.Error(err)
			}
		})
	}
	all.Wait()
}

func (b *bundle) refusedForNow(r *http.Request) error {
	res, err := b.client.Do(r)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		err = fmt.Errorf("%s: %d, Retry-After %q", r.URL.Path, res.StatusCode, res.Header.Get("Retry-After"))
	}
	return errors.Join(err, res.Body.Close())
}

func (b *bundle) eventually(happens func() bool) {
	b.t.Helper()
	require.Eventually(b.t, happens, wait, tick)
}

func (b *bundle) untilReady() {
	b.t.Helper()
	b.eventually(func() bool { return b.get("/readyz").status == http.StatusOK })
}

// Pins a replica whose clock is wrong: neither tokens nor leases may notice.
func TestAPodClockThatIsMinutesOff(t *testing.T) {
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
			short := header("Authorization", "Bearer "+b.issuer.token(fields{"sub": "alice", "nbf": now.Unix(), "exp": now.Add(time.Minute).Unix()}))
			session := b.matchmake("alice", duel, short).ok(http.StatusOK)
			stale := header("Authorization", "Bearer "+b.issuer.token(fields{"sub": "alice", "exp": now.Add(-time.Minute).Unix()}))
			b.matchmake("alice", duel, stale).problem(http.StatusUnauthorized, "unauthorized")

			claims := claimsOf(t, b.resolve("alice", session["session_handle"]).ok(http.StatusOK)["session_token"].(string))
			require.InDelta(t, time.Now().Unix(), claims["iat"], 10)
			require.InDelta(t, 120, claims["exp"].(float64)-claims["iat"].(float64), 0)
			require.Len(t, b.get("/.well-known/jwks.json").ok(http.StatusOK)["keys"], 2)

			b.steady()
			b.fleet("heartbeat", me).ok(http.StatusOK)
			b.expire("a")
			b.fleet("heartbeat", me).problem(http.StatusNotFound, "instance_unknown")
		})
	}
}

// Pins a replica that does not tell the fleet that it listens: the amnesty of a new database would never end.
func TestServingEndsTheAmnesty(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) {
		c.db.Timing = db.DefaultTiming()
		c.db.Timing.LeaseTTL = time.Second
	})
	me := b.register("a")
	b.exec("UPDATE instance_leases SET heartbeat_at = now() - interval '1 hour'")
	b.fleet("heartbeat", me).ok(http.StatusOK) // nobody is judged yet
	b.eventually(func() bool { return b.matchmake("alice", duel).status == http.StatusConflict })
	b.fleet("heartbeat", me).problem(http.StatusNotFound, "instance_unknown")
}
