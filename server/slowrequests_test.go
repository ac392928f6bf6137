package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server"
)

// slowRequest is a request that never arrives whole.
type slowRequest struct {
	name string
	text string // what is sent at once
	drip bool   // bytes follow, one by one
}

// slowRequests returns every way in which a request to a route can be slow.
func (b *bundle) slowRequests(l server.Listener, method, path string, h http.Header) []slowRequest {
	line := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: director\r\n", method, path)
	var fields strings.Builder
	require.NoError(b.t, h.Write(&fields))
	line += fields.String()
	if l.Name == "console" && method == http.MethodPost {
		line += "Content-Type: application/x-www-form-urlencoded\r\n"
	}
	body := line + "Content-Length: 1000\r\n\r\n{"
	all := []slowRequest{
		{"half a header", line, false}, {"a header byte by byte", line + "X-Slow: ", true},
		{"half a body", body, false}, {"a body byte by byte", body, true},
		{"half a chunk", line + "Transfer-Encoding: chunked\r\n\r\nff\r\n{", false},
	}
	if method == http.MethodGet {
		upgrade := "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		all = append(all, slowRequest{"an upgrade with half a body", line + upgrade + "Content-Length: 1000\r\n\r\n{", false})
		if l.Name == "realtime" || path == "/matchmaker/ws" {
			all = append(all, slowRequest{"half a frame", line + upgrade + "\r\n\x81\x8a", false})
		}
	}
	return all
}

// untilEnded goes on sending, and returns how long the server has left the connection open.
func (r slowRequest) untilEnded(conn net.Conn, atMost time.Duration) time.Duration {
	began := time.Now()
	_ = conn.SetDeadline(began.Add(atMost))
	if r.drip {
		go func() {
			for {
				if _, err := conn.Write([]byte(" ")); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the pace of the slow client
			}
		}()
	}
	_, _ = io.Copy(io.Discard, conn)
	return time.Since(began)
}

// forEachSlowRequest opens all slow requests to all routes of all listeners.
func (b *bundle) forEachSlowRequest(do func(what string, r slowRequest, conn net.Conn)) {
	b.t.Helper()
	open := func(what string, r slowRequest, addr net.Addr) {
		conn := webtest.Dial(b.t, addr.String())
		must.Get(io.WriteString(conn, r.text))(b.t)
		do(what+r.name, r, conn)
	}
	waiting := "?wait=50s&version=1"
	for _, l := range b.server.Listeners() {
		for _, route := range l.Routes {
			path := somePath(route.Path, "x")
			if route.Path == "/tickets/:id" || route.Path == "/tickets/:id/events" {
				path = somePath(route.Path, b.ticket)
			}
			for _, r := range b.slowRequests(l, route.Method, path+waiting, b.credentials(l, path)) {
				open(fmt.Sprintf("%s: %s %s: ", l.Name, route.Method, route.Path), r, l.Addr)
			}
		}
	}
	for _, r := range []slowRequest{{"nothing", "", false}, {"half a CONNECT", "CONNECT {", false}, {"a CONNECT byte by byte", "CONNECT {", true}} {
		open("nats: ", r, b.server.NATSAddr())
	}
}

// Pins a body that a route which waits does not read: the connection stayed for ever. A new route is in this test by
// being mounted.
func TestSlowRequestsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, everyFace)
	b.waitingTicket()
	const atMost = 30 * time.Second // 10 s, on a machine that runs all tests at once
	var slow sync.WaitGroup
	b.forEachSlowRequest(func(what string, r slowRequest, conn net.Conn) {
		slow.Go(func() {
			if took := r.untilEnded(conn, atMost); took >= atMost {
				t.Errorf("%s: open after %s", what, took)
			}
		})
	})
	b.serveUntilEnd(&slow)
}

// serveUntilEnd makes one call of each kind, again and again, until the slow ones have ended.
func (b *bundle) serveUntilEnd(slow *sync.WaitGroup) {
	b.t.Helper()
	ended := make(chan struct{})
	go func() { slow.Wait(); close(ended) }()
	for served := 0; ; served++ {
		for _, l := range b.server.Listeners() {
			if l.Name == "console" {
				b.login(l, opsToken)
			}
		}
		sub := fmt.Sprint("bystander-", served)
		b.register(sub)
		b.matchmake(sub, duel).ok(http.StatusOK)
		select {
		case <-ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Pins a connection with half a request that made a stopping replica wait for its whole shutdown timeout.
func TestSlowRequestsDoNotDelayAStop(t *testing.T) {
	t.Parallel()
	b, stop, stopped := stoppable(t, everyFace)
	b.waitingTicket()
	n := 0
	b.forEachSlowRequest(func(string, slowRequest, net.Conn) { n++ })
	b.forEachSlowCall(func(string, *slowCall) { n++ })
	began := time.Now()
	stop()
	require.NoError(t, <-stopped)
	took := time.Since(began)
	t.Logf("stopped in %s with %d slow requests", took, n)
	require.Less(t, took, 2*time.Second)
}

// waitingTicket makes a ticket that nobody matches, so that calls can wait for it.
func (b *bundle) waitingTicket() {
	b.t.Helper()
	b.profile("ranked", ranked)
	b.ticket = b.queue("alice", fields{"profiles": []string{"ranked"}})
}
