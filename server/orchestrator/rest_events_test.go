package orchestrator

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// holding is a fleet whose commands block until the test releases them.
type holding struct {
	*fleet

	entered, leave chan struct{}
}

func (h holding) Destroy(context.Context, string, string) (db.CommandAnswer, error) {
	h.entered <- struct{}{}
	<-h.leave
	return db.CommandAnswer{FinalState: db.CommandDone}, nil
}

// feed gives each stream the same first events, and then the events of a channel.
type feed struct {
	events chan []roster.Event
	after  chan string // the Last-Event-ID of each stream
	closed chan struct{}
	err    error
}

func newFeed() *feed {
	return &feed{events: make(chan []roster.Event, 10), after: make(chan string, 10), closed: make(chan struct{}, 10)}
}

func (f *feed) follow(_ context.Context, lastEventID string) (Follower, error) {
	f.after <- lastEventID
	return f, f.err
}

func (f *feed) Next(ctx context.Context) ([]roster.Event, error) {
	select {
	case events, ok := <-f.events:
		if !ok {
			return nil, errAway
		}
		return events, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *feed) Close() { f.closed <- struct{}{} }

func (f *feed) option(o *RESTOptions) { o.FollowEvents = f.follow }

func TestEventsToTheByte(t *testing.T) {
	t.Parallel()
	f := newFeed()
	b := newRig(t, duelFleet(), f.option)
	f.events <- []roster.Event{{ID: "7.x.0", Type: "instance:join", Data: []byte(eu0JSON)},
		{ID: "7.x.1", Type: "room:create", Data: []byte(matchJSON)}}
	f.events <- []roster.Event{{Type: "sync", Data: []byte(`{"instances":1}`)}}
	close(f.events)
	w := b.get("/v1/events", "Last-Event-ID", "6.x.3")
	require.Equal(t, 200, w.Code)
	require.Equal(t, ": connected\n\n"+
		"event: instance:join\ndata: "+eu0JSON+"\nid: 7.x.0\n\n"+
		"event: room:create\ndata: "+matchJSON+"\nid: 7.x.1\n\n"+
		"event: sync\ndata: {\"instances\":1}\n\n", w.Body.String())
	require.Equal(t, http.Header{
		"Content-Type": {"text/event-stream; charset=utf-8"}, "Cache-Control": {"no-cache, no-transform"},
		"X-Accel-Buffering": {"no"},
		"X-Request-Id":      w.Header()["X-Request-Id"],
	}, w.Header())
	require.Equal(t, "6.x.3", <-f.after)
	<-f.closed
}

func TestHeadOfEventsEnds(t *testing.T) {
	t.Parallel()
	f := newFeed()
	w := newRig(t, duelFleet(), f.option).call(http.MethodHead, "/v1/events", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "text/event-stream; charset=utf-8", w.Header().Get("Content-Type"))
	require.Empty(t, w.Body.String())
	require.Empty(t, f.after, "HEAD does not count as a stream")
}

func TestEventsThatCannotBegin(t *testing.T) {
	t.Parallel()
	f := newFeed()
	b := newRig(t, duelFleet(), f.option)
	f.err = &fault.Error{Kind: fault.TooMany, Code: tooManyStreams}
	rejected(t, b.get("/v1/events"), 429, "SSE_LIMIT")
	f.err = errAway
	rejected(t, b.get("/v1/events"), 503, "NOT_READY")
}

// A browser's EventSource cannot send headers. The query parameter works for streams only, and only where it is on.
func TestKeyInTheQuery(t *testing.T) {
	t.Parallel()
	f := newFeed()
	close(f.events)
	off := newRig(t, duelFleet(), f.option)
	rejected(t, off.get("/v1/events?key="+adminKey, "Authorization", ""), 401, "UNAUTHORIZED")
	on := newRig(t, duelFleet(), f.option, func(o *RESTOptions) { o.QueryKey = true })
	require.Equal(t, 200, on.get("/v1/events?key="+adminKey, "Authorization", "").Code)
	require.Equal(t, 200, on.get("/v1/events").Code)
	rejected(t, on.get("/v1/events?key=wrong", "Authorization", ""), 401, "UNAUTHORIZED")
	rejected(t, on.get("/v1/stats?key="+adminKey, "Authorization", ""), 401, "UNAUTHORIZED")
	require.NotContains(t, on.log.String(), adminKey)
}

// sharedRecorder is a recorder whose body a test may read while it is written.
type sharedRecorder struct {
	*httptest.ResponseRecorder

	mu sync.Mutex
}

func (w *sharedRecorder) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ResponseRecorder.Write(b)
}

func (w *sharedRecorder) body() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Body.String()
}

func TestPings(t *testing.T) {
	t.Parallel()
	f := newFeed()
	b := newRig(t, duelFleet(), f.option)
	synctest.Test(t, func(t *testing.T) {
		f.events = make(chan []roster.Event) // of this bubble
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events", nil)
		r.Header.Set("Authorization", "Bearer "+adminKey)
		f.after, f.closed = make(chan string, 1), make(chan struct{}, 1)
		w := &sharedRecorder{ResponseRecorder: httptest.NewRecorder()}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.ServeHTTP(w, r)
		}()
		<-time.After(14 * time.Second)
		f.events <- []roster.Event{{Type: "sync", Data: []byte(`{}`)}}
		<-time.After(2 * time.Second)
		synctest.Wait()
		require.Equal(t, ": connected\n\nevent: sync\ndata: {}\n\n: ping\n\n", w.body(),
			"every 15 seconds, also between events")
		<-time.After(30 * time.Second)
		synctest.Wait()
		require.Equal(t, 3, strings.Count(w.body(), ": ping\n\n"))
		cancel()
		<-ended
	})
}

// A replica that stops ends its streams, since the HTTP server waits for them.
func TestStoppingEndsStreams(t *testing.T) {
	t.Parallel()
	f := newFeed()
	stopping, stop := context.WithCancel(t.Context())
	b := newRig(t, duelFleet(), f.option, func(o *RESTOptions) { o.Stopping = stopping })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.get("/v1/events")
	}()
	<-f.after
	stop()
	await.Value(t, ended, "end of the stream")
	await.Value(t, f.closed, "close of the follower")
}

// The stream of a caller that reads nothing is cut, so that it holds no memory. A slow reader keeps its stream.
func TestAStreamThatTakesNothingIsCut(t *testing.T) {
	t.Parallel()
	f := newFeed()
	b := newRig(t, duelFleet(), f.option)
	b.streamTimeout = 300 * time.Millisecond
	// With small buffers, a caller that does not read blocks the server after few bytes.
	server := httptest.NewUnstartedServer(b)
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4096)
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	conn := webtest.Dial(t, server.Listener.Addr().String())
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err := io.WriteString(conn, "GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "+adminKey+"\r\n\r\n")
	require.NoError(t, err)
	large := []roster.Event{{Type: "instance:join", Data: []byte(`"` + strings.Repeat("x", 32<<20) + `"`)}}
	begun := time.Now()
	f.events <- large
	await.Value(t, f.closed, "end of the stream")
	require.GreaterOrEqual(t, time.Since(begun), b.streamTimeout)
}

// Over a real connection, events arrive as they happen, and the stream ends when the caller disconnects.
func TestEventsOverAConnection(t *testing.T) {
	t.Parallel()
	f := newFeed()
	b := newRig(t, duelFleet(), f.option)
	server := httptest.NewServer(b)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/events", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+adminKey)
	res, err := server.Client().Do(r)
	require.NoError(t, err)
	lines := bufio.NewScanner(res.Body)
	line := func() string {
		require.True(t, lines.Scan())
		return lines.Text()
	}
	require.Equal(t, ": connected", line())
	require.Empty(t, line())
	for range 3 {
		f.events <- []roster.Event{{Type: "sync", Data: []byte(`{}`)}}
		require.Equal(t, "event: sync", line())
		require.Equal(t, "data: {}", line())
		require.Empty(t, line())
	}
	require.NoError(t, res.Body.Close())
	await.Value(t, f.closed, "end of the stream")
}
