package server_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/server/rest"
)

// A caller that resets its connection within milliseconds, even without a token, must not cost a database connection.
// pgx closes the connection of a query whose context ends, and each new connection costs Postgres a new backend.
func TestAbortedCallsCostNoConnections(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.CallerRate = rest.Rate{PerSecond: -1} })
	b.register("a")
	session, _ := b.seat("alice")
	before := b.store.Pool().Stat().NewConnsCount()
	b.abort(1000, b.request(http.MethodGet, "/readyz", nil))
	b.abort(1000, b.request(http.MethodGet, "/sessions/"+session["session_id"].(string), nil, b.as("alice")))
	opened := b.store.Pool().Stat().NewConnsCount() - before
	require.LessOrEqual(t, opened, 2*int64(b.config.db.MaxConns), "the pool may grow to its size once")
	b.session("alice", session["session_id"].(string)).ok(http.StatusOK)
	b.get("/readyz").ok(http.StatusOK)
}

// abort sends a request n times and resets each connection around the time of the answer.
func (b *bundle) abort(n int, r *http.Request) {
	b.t.Helper()
	var callers errgroup.Group
	callers.SetLimit(16)
	for range n {
		callers.Go(func() error {
			conn, err := net.Dial("tcp", r.URL.Host)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: director\r\nAuthorization: %s\r\n\r\n", r.URL.Path, r.Header.Get("Authorization"))
			<-time.After(rand.N(2 * time.Millisecond)) // so that some connections are reset while their query runs
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
			return err
		})
	}
	require.NoError(b.t, callers.Wait())
}
