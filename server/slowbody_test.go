package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// upload is a request whose headers were sent and whose body the test sends slowly.
type upload struct {
	t      *testing.T
	conn   net.Conn
	answer *bufio.Reader
	body   []byte // the part that was not sent yet
}

// begin sends the headers with "Expect: 100-continue", which the server answers when it starts to read the body.
func (b *bundle) begin(path string, body fields, credential func(*http.Request)) *upload {
	b.t.Helper()
	r, text := b.request(http.MethodPost, path, nil, credential), must.Get(json.Marshal(body))(b.t)
	conn := webtest.Dial(b.t, r.URL.Host)
	require.NoError(b.t, conn.SetDeadline(time.Now().Add(wait)))
	must.Get(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: director\r\nExpect: 100-continue\r\nContent-Length: %d\r\n", path, len(text)))(b.t)
	require.NoError(b.t, r.Header.Write(conn))
	must.Get(conn.Write([]byte("\r\n")))(b.t)
	return &upload{b.t, conn, bufio.NewReader(conn), text}
}

// status waits for an answer.
func (u *upload) status() int {
	u.t.Helper()
	res, err := http.ReadResponse(u.answer, nil)
	require.NoError(u.t, err)
	require.NoError(u.t, res.Body.Close())
	return res.StatusCode
}

// untilRead waits until the server reads the body.
func (u *upload) untilRead() *upload {
	u.t.Helper()
	require.Equal(u.t, http.StatusContinue, u.status())
	return u
}

func (u *upload) send(n int) {
	u.t.Helper()
	must.Get(u.conn.Write(u.body[:n]))(u.t)
	u.body = u.body[n:]
}

// Callers that send their bodies a byte at a time take no slots.
func TestSlowBodiesTakeNoSlots(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 4 })
	me := b.register("a")
	var slow []*upload
	for i := range 4 {
		slow = append(slow, b.begin("/matchmake", duel, b.as(fmt.Sprint("slow-", i))).untilRead(), b.begin("/fleet/heartbeat", me, with(fleetToken)).untilRead())
	}
	for i := range 20 {
		for _, u := range slow {
			u.send(min(1, len(u.body)-1)) // never the last
		}
		b.matchmake(fmt.Sprint("quick-", i), duel).ok(http.StatusOK)
		b.fleet("heartbeat", me).ok(http.StatusOK)
	}
	for _, u := range slow {
		u.send(len(u.body))
		require.Equal(t, http.StatusOK, u.status(), "slow bodies are accepted")
	}
}

// The number of bodies being read is bounded, and slow callers cannot use it up: the slowest body is given up.
func TestTheSlowestBodyIsGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 1 })
	b.register("a")
	first, second := b.begin("/matchmake", duel, b.as("first")).untilRead(), b.begin("/matchmake", duel, b.as("second")).untilRead()
	b.matchmake("quick", duel).ok(http.StatusOK)
	require.Equal(t, http.StatusRequestTimeout, first.status())
	second.send(len(second.body))
	require.Equal(t, http.StatusOK, second.status())
}

// A body is not read if the headers suffice for a refusal: without a valid token, over the rate, or while no slot is
// free.
func TestBodiesThatAreNotRead(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 1; c.CallerRate.PerSecond, c.CallerRate.Burst = 1e-6, 1 })
	me := b.register("a")
	b.begin("/matchmake", duel, header("Authorization", "Bearer x")).refused(http.StatusUnauthorized)
	b.begin("/fleet/heartbeat", me, with("x")).refused(http.StatusUnauthorized)
	b.matchmake("alice", duel).ok(http.StatusOK)
	b.begin("/matchmake", duel, b.as("alice")).refused(http.StatusTooManyRequests)

	release := b.store.Hold("LOCK TABLE instance_directory, seats IN ACCESS EXCLUSIVE MODE")
	defer release()
	slow := make(chan answer, 2)
	go func() { slow <- b.matchmake("bob", duel) }()
	go func() { slow <- b.fleet("register", registration("b")) }()
	b.store.AwaitBlocked(2)
	b.begin("/matchmake", duel, b.as("carol")).refused(http.StatusServiceUnavailable)
	b.begin("/fleet/heartbeat", me, with(fleetToken)).refused(http.StatusServiceUnavailable)
	release()
	(<-slow).ok(http.StatusOK)
	(<-slow).ok(http.StatusOK)
}

// refused requires the answer without a 100 Continue before it.
func (u *upload) refused(status int) {
	u.t.Helper()
	require.Equal(u.t, status, u.status())
}
