package rest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
)

// streaming is a server with one route of events. Its deadlines are as short as those that a stream must not have.
func streaming(t *testing.T, timeout time.Duration,
	fn func(ctx context.Context, in In[None], out *Events) error) *httptest.Server {
	t.Helper()
	engine := must.Get(New(Options{}))(t)
	engine.GET("/events", AllowWaiting, handleEvents(timeout, fn))
	s := httptest.NewUnstartedServer(engine)
	s.Config.ReadTimeout, s.Config.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// A stream outlives the deadlines of short calls, and its events have the form of the HTML standard.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := streaming(t, time.Minute, func(ctx context.Context, _ In[None], out *Events) error {
		require.NoError(t, out.Send("queued", 1, map[string]string{"a": "<b>\n"}))
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		require.NoError(t, out.Beat())
		return out.Send("assigned", 2, 5)
	})
	res, err := http.Get(s.URL + "/events")
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
	require.Equal(t, "event: queued\nid: 1\ndata: {\"a\":\"<b>\\n\"}\n\n: still here\n\nevent: assigned\nid: 2\ndata: 5\n\n", string(body))
}

// An error before the first event is a problem, and one after it ends the stream.
func TestEventsThatFail(t *testing.T) {
	t.Parallel()
	refused := &fault.Error{Kind: fault.NotFound, Code: "ticket_unknown", Detail: "x"}
	s := streaming(t, time.Minute, func(context.Context, In[None], *Events) error { return refused })
	res, err := http.Get(s.URL + "/events")
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
}

// Pins a stream that a caller which does not read keeps open, and with it a goroutine, for ever.
func TestSlowReadersAreCut(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	long := strings.Repeat("x", 1<<16)
	s := streaming(t, 100*time.Millisecond, func(_ context.Context, _ In[None], out *Events) (err error) {
		for err == nil {
			err = out.Send("queued", 1, long)
		}
		ended <- err
		return err
	})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "the stream goes on")
	}
}
