package rest_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/server/rest"
)

// With more requests than the pool can serve in time, all of them would be late.
func TestGate(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	entered, leave := make(chan struct{}), make(chan struct{})
	wait := func(context.Context, rest.In[rest.None]) (rest.None, error) {
		entered <- struct{}{}
		<-leave
		return rest.None{}, nil
	}
	calls := b.Group("/calls", rest.NewGate(2, nil, nil).Enter)
	calls.GET("/a", rest.Handle(http.StatusOK, wait))
	calls.GET("/b", rest.Handle(http.StatusOK, wait))

	var callers sync.WaitGroup
	for _, path := range []string{"/calls/a", "/calls/b"} {
		callers.Go(func() { b.get(path) })
		<-entered
	}
	w := b.get("/calls/a")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, "unavailable", problem(t, w).Code)
	require.Equal(t, http.StatusOK, b.post(with(`"seats":1`)).Code, "other routes are not limited by this gate")

	close(leave)
	callers.Wait()
	callers.Go(func() { <-entered })
	require.Equal(t, http.StatusOK, b.get("/calls/a").Code, "slots are free again, those of refused calls too")
	callers.Wait()
}

// Guard answers as Enter does and takes no slot. Requests with an Origin, which need CORS headers, and those of other
// routes reach the engine.
func TestGuard(t *testing.T) {
	t.Parallel()
	reg, lines := prometheus.NewRegistry(), new(bytes.Buffer)
	m, err := rest.NewMetrics(reg)
	require.NoError(t, err)
	g := rest.NewGate(1, m, slog.New(slog.NewTextHandler(lines, nil)))
	entered, leave := make(chan struct{}), make(chan struct{})
	b := setup(t, rest.Options{})
	b.GET("/calls/a", g.Enter, rest.Handle(http.StatusOK, func(context.Context, rest.In[rest.None]) (rest.None, error) {
		entered <- struct{}{}
		<-leave
		return rest.None{}, nil
	}))
	guarded := g.Guard(b, func(r *http.Request) bool { return r.URL.Path == "/calls/a" })
	serve := func(change ...func(*http.Request)) *httptest.ResponseRecorder {
		r, w := request(http.MethodGet, "/calls/a", ""), httptest.NewRecorder()
		for _, f := range change {
			f(r)
		}
		guarded.ServeHTTP(w, r)
		return w
	}
	var caller sync.WaitGroup
	caller.Go(func() { require.Equal(t, http.StatusOK, serve().Code) })
	<-entered

	early, late := serve(), b.get("/calls/a")
	require.Equal(t, http.StatusServiceUnavailable, early.Code)
	got, want := problem(t, early), problem(t, late)
	require.Equal(t, early.Header().Get("X-Request-Id"), got.RequestID)
	want.RequestID = got.RequestID
	require.Equal(t, want, got)
	for _, name := range []string{"Retry-After", "Content-Type", "Cache-Control"} {
		require.Equal(t, late.Header()[name], early.Header()[name], name)
	}
	require.Equal(t, []string{"mine"}, serve(func(r *http.Request) {
		r.Header.Set("X-Request-Id",
			"mine")
	}).Header()["X-Request-Id"])
	require.Equal(t, http.StatusServiceUnavailable,
		serve(func(r *http.Request) { r.Header.Set("Origin", "https://play.example") }).Code)
	require.Equal(t, http.StatusNotFound, serve(func(r *http.Request) { r.URL.Path = "/elsewhere" }).Code)
	require.Equal(t, 2.0, metrictest.Sum(t, reg, "director_http_requests_total"))
	require.Equal(t, 1, strings.Count(lines.String(), "limit=1"), "one line a second")

	close(leave)
	caller.Wait()
	caller.Go(func() { <-entered })
	require.Equal(t, http.StatusOK, serve().Code)
	caller.Wait()
}

// A panic frees its slot: otherwise the gate would refuse everything after a few of them.
func TestGateAfterPanics(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.GET("/panic", rest.NewGate(1, nil, nil).Enter,
		rest.Handle(http.StatusOK, func(context.Context, rest.In[rest.None]) (rest.None, error) {
			panic("boom")
		}))
	for range 3 {
		require.Equal(t, http.StatusInternalServerError, b.get("/panic").Code)
	}
}

func TestZeroSetsNoLimitAndNoDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{}, rest.NewGate(0, nil, nil).Enter, rest.SetDeadline(0))
	require.Equal(t, http.StatusOK, b.post(with(`"seats":1`)).Code)
}
