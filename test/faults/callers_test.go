package faults

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/test/rigtest"
)

// Thousands of calls are reset within milliseconds, half of them without a token: Postgres starts no backends for them,
// and players get their seats.
func TestAbortedCallsOpenNoBackends(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestSlowBodiesBlockNoOtherCallers")
	r := newRig(t, "DIRECTOR_PLAYER_RATE=0")
	replica := r.ServeReplica()
	r.KeepAlive(time.Second, "a", "b", "c")
	session := r.PlayUntilDone(t.Context(), "ann", "/matchmake", fields{"region": "eu", "mode": "duel"})
	l := r.startLoad(4)
	l.seats.Await(20)
	backends := func() int { // that Postgres has started so far
		return one[int](r, "SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
	}
	before := backends()
	abort(t, replica, 4000, "GET /readyz HTTP/1.1\r\nHost: director\r\n\r\n")
	abort(t, replica, 4000, fmt.Sprintf("GET /sessions/%s HTTP/1.1\r\nHost: director\r\nAuthorization: Bearer %s\r\n\r\n", session["session_id"], r.PlayerLogin.AccessToken("ann")))
	opened := backends() - before
	t.Logf("%d backends opened", opened)
	l.seats.Await(20)
	l.callers.End()
	require.Less(t, opened, 64, "the pools may grow to their sizes, and a query may outlast its caller's second now and then")
	l.requireAcknowledged()
}

// abort sends a request n times from 32 callers, and resets each connection within 3 ms, before most answers arrive.
func abort(t *testing.T, p *process, n int, request string) {
	t.Helper()
	rigtest.Each(n, 32, func(int) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte(request))
		pause(t.Context(), rand.N(3*time.Millisecond)) // some are reset while their query runs
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	})
}

// Three players within their rate limits send more bodies, one byte at a time, than a replica serves calls at once:
// other callers are answered.
func TestSlowBodiesBlockNoOtherCallers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "DIRECTOR_MAX_IN_FLIGHT=48")
	replica := r.ServeReplica()
	r.KeepAlive(time.Second, "a")
	body := `{"region":"eu","mode":"duel"}`
	var slow []net.Conn
	for _, sub := range []string{"ann", "ben", "cat"} {
		for range 50 {
			conn := webtest.Dial(t, strings.TrimPrefix(replica.URL, "http://"))
			_, err := fmt.Fprintf(conn, "POST /matchmake HTTP/1.1\r\nHost: director\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", r.PlayerLogin.AccessToken(sub), len(body))
			require.NoError(t, err)
			slow = append(slow, conn)
		}
	}
	for i := range len(body) - 1 {
		for _, conn := range slow {
			_, _ = conn.Write([]byte{body[i]}) // the replica may have closed some
		}
		r.RequireOK(r.PostPlay(fmt.Sprint("quick-", i), "/matchmake", fields{"region": "eu", "mode": "duel"}))
		r.RequireOK(r.PostFleet("/fleet/heartbeat", fields{"instance_id": "a"}))
	}
}
