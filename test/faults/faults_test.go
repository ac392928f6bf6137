package faults

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// load is callers that call /matchmake for a new player each time, with the answers that they got.
type load struct {
	*rig
	callers *rigtest.Callers
	seats   rigtest.Answers
}

// startLoad starts so many callers, until the test ends or their End.
func (r *rig) startLoad(callers int) *load {
	l := &load{rig: r, callers: rigtest.NewCallers(r.T), seats: rigtest.Answers{Rig: r.Rig, Missing: rigtest.NoSeat}}
	l.callers.Add(callers, func(ctx context.Context, caller, turn int) {
		sub := fmt.Sprintf("p-%d-%d", caller, turn)
		answer := r.PlayUntilDone(ctx, sub, "/matchmake", fields{"region": "eu", "mode": "duel"})
		if answer != nil {
			l.seats.Add(sub, answer["session_id"].(string))
		}
	})
	return l
}

const seatedTwice = "SELECT sub FROM seats GROUP BY sub HAVING count(*) > 1"

// requireAcknowledged compares the answers with the database: every acknowledged seat exists, and no player has two.
func (l *load) requireAcknowledged() {
	l.T.Helper()
	require.Empty(l.T, l.seats.FindLost(), "acknowledged seats that do not exist")
	l.requireNone("players seated twice", seatedTwice)
	l.RequireInvariants()
	l.T.Logf("%d placements acknowledged", l.seats.Count())
}

// A replica is killed in the middle of its batches: every acknowledged seat exists, and other calls can be retried.
func TestKilledReplicaLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	victim := r.ServeReplica()
	r.ServeReplica()
	r.KeepAlive(time.Second, "a", "b", "c")
	l := r.startLoad(64)
	l.seats.Await(100)
	victim.Process.Kill()
	l.seats.Await(100)
	l.callers.End()
	l.requireAcknowledged()
}

// Postgres stops as in a power cut, and starts again: every acknowledged seat exists, and placement continues within
// seconds.
func TestPostgresCrashes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ServeReplica()
	r.ServeReplica("--work")
	r.KeepAlive(time.Second, "a", "b", "c")
	l := r.startLoad(64)
	for range 2 {
		l.seats.Await(50)
		require.NoError(t, r.Cluster.StopImmediate())
		require.NoError(t, r.Cluster.Start(t.Context()))
		require.Less(t, l.seats.Await(1), 5*time.Second)
	}
	l.seats.Await(50)
	l.callers.End()
	r.SQLPool.Reset()
	l.requireAcknowledged()
}

// A tenth of all answers are lost, and callers retry without an idempotency key: each player has one seat.
func TestLostAnswersSeatNoPlayerTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 2 {
		r.ServeReplica()
	}
	var proxies []string
	for _, u := range r.ReplicaURLs() {
		proxies = append(proxies, losingProxy(t, u))
	}
	r.SetURLs(proxies...)
	r.KeepAlive(time.Second, "a", "b", "c")
	l := r.startLoad(64)
	l.seats.Await(400)
	l.callers.End()
	l.requireAcknowledged()
}

// losingProxy is a proxy that drops every tenth answer, after the director has done the work.
func losingProxy(t *testing.T, to string) string {
	t.Helper()
	target := must.Get(url.Parse(to))(t)
	proxy := httputil.NewSingleHostReverseProxy(target)
	var n atomic.Int64
	proxy.ModifyResponse = func(*http.Response) error {
		if n.Add(1)%10 == 0 {
			return errNoAnswer
		}
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	return srv.URL
}

// Postgres is down for four lease times. No heartbeat could be stored meanwhile, so no lease expires.
func TestLongOutageClosesNoSession(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestPostgresCrashes")
	const lease = 3 * time.Second
	r := newRig(t, "DIRECTOR_LEASE_TTL="+lease.String(), "DIRECTOR_SEAT_TTL=10m")
	r.ServeReplica("--work")
	r.KeepAlive(lease/3, "a", "b", "c")
	l := r.startLoad(16)
	l.seats.Await(64)
	l.callers.End()
	sessions := one[int](r, "SELECT count(*) FROM sessions")
	before := one[string](r, "SELECT string_agg(incarnation::text, ',' ORDER BY id) FROM instances")
	// During the amnesty of a new installation no lease expires, so the test waits for its end.
	r.AwaitTrue("SELECT lease_horizon() > '-infinity'")

	require.NoError(t, r.Cluster.Stop(t.Context()))
	pause(t.Context(), 4*lease)
	require.NoError(t, r.Cluster.Start(t.Context()))
	r.SQLPool.Reset()
	r.AwaitTrue("SELECT lease_horizon() > '-infinity'")
	require.Equal(t, sessions, one[int](r, "SELECT count(*) FROM sessions"), "open sessions")
	require.Equal(t, before, one[string](r, "SELECT string_agg(incarnation::text, ',' ORDER BY id) FROM instances"),
		"no instance had to register again")
	l.requireAcknowledged()
}

// A game server is frozen past its lease, as by SIGSTOP or a network partition, and another process registers under its
// id. All calls of the old process are refused.
func TestFrozenGameServerIsFenced(t *testing.T) {
	t.Parallel()
	r := newRig(t, "DIRECTOR_LEASE_TTL=1s")
	r.ServeReplica("--work")
	registration := fields{"instance_id": "sleeper", "endpoint": "h:1", "region": "eu", "modes": []string{"duel"},
		"capacity": 64, "boot_id": "one"}
	first := r.RequireOK(r.PostFleet("/fleet/register", registration))
	seat := r.PlayUntilDone(t.Context(), "ann", "/matchmake", fields{"region": "eu", "mode": "duel"})
	r.AwaitTrue("SELECT count(*) = 0 FROM sessions")

	requireAnswer := func(want int, path string, more fields) {
		t.Helper()
		body := fields{"instance_id": "sleeper", "incarnation": first["incarnation"]}
		maps.Copy(body, more)
		r.RequireStatus(want)(r.PostFleet(path, body))
	}
	requireAnswer(http.StatusNotFound, "/fleet/heartbeat", nil) // its lease has expired: it may register again
	registration["boot_id"] = "two"
	r.RequireOK(r.PostFleet("/fleet/register", registration))
	joined := []fields{{"sub": "ann", "jti": "j1"}}
	requireAnswer(http.StatusConflict, "/fleet/heartbeat", nil)
	requireAnswer(http.StatusConflict, "/fleet/seats", fields{"session_id": seat["session_id"], "joined": joined})
	requireAnswer(http.StatusConflict, "/fleet/drain", fields{"drain": true})
	requireAnswer(http.StatusConflict, "/fleet/deregister", nil)
	require.Equal(t, "ready", one[string](r, "SELECT status FROM instances"))
	r.RequireInvariants()
}
