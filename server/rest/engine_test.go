package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lattice-director/director/server/rest"
)

// A game server whose instance is not found registers again; one with a wrong base URL must see another code.
func TestUnknownRoutesAreProblems(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	for _, path := range []string{"/nothing", "/join/", "/JOIN", "//join", "/%00", "/../join"} {
		w := b.get(path)
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Equal(t, "route_not_found", problem(t, w).Code)
	}
}

func TestUnknownMethodsAreProblems(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.GET("/join", func(*gin.Context) {})
	for _, method := range []string{http.MethodDelete, http.MethodOptions, "BREW"} {
		w := b.serve(request(method, "/join", ""))
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "POST, GET", w.Header().Get("Allow"))
		require.Equal(t, "method_not_allowed", problem(t, w).Code)
	}
}

func TestPanicIsAnsweredAndLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.GET("/panic", rest.SetDeadline(time.Minute), func(*gin.Context) { panic("boom") })
	w := b.get("/panic", "X-Request-Id", "find-me")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "internal", problem(t, w).Code)
	require.NotContains(t, w.Body.String(), "boom")

	lines := b.lines(t)
	require.Len(t, lines, 2)
	require.Equal(t, "boom", lines[0]["panic"])
	require.Contains(t, lines[0]["stack"], "engine_test.go")
	require.Equal(t, "find-me", lines[0]["request_id"])
	require.EqualValues(t, 500, lines[1]["status"])
}

// A client must be able to tell a truncated answer from a complete one.
func TestPanicWhileAnsweringCutsTheConnection(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.GET("/half", func(c *gin.Context) {
		c.String(http.StatusOK, `{"seats":`)
		c.Writer.Flush()
		panic("boom")
	})
	srv := httptest.NewServer(b)
	defer srv.Close()
	res, err := srv.Client().Get(srv.URL + "/half")
	require.NoError(t, err)
	defer res.Body.Close()
	_, err = res.Body.Read(make([]byte, 100))
	for err == nil {
		_, err = res.Body.Read(make([]byte, 100))
	}
	require.ErrorContains(t, err, "unexpected EOF")
}

// A panic with http.ErrAbortHandler still closes the connection.
func TestAbortHandlerPassesThrough(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.GET("/abort", func(*gin.Context) { panic(http.ErrAbortHandler) })
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.get("/abort") })
}

func TestNewRefusesInvalidOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []rest.Options{
		{TrustedProxies: []string{"balancer"}},
		{CORSOrigins: []string{"play.example"}},
		{CORSOrigins: []string{"https://*.example"}},
		{CORSOrigins: []string{"/(/"}},
		{CORSOrigins: []string{""}},
	} {
		_, err := rest.New(o)
		require.Error(t, err, "%+v", o)
	}
}

func TestForwardedForCountsFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	for want, proxies := range map[string][]string{"192.0.2.1": nil, "203.0.113.9": {"192.0.2.0/24"}} {
		b := setup(t, rest.Options{TrustedProxies: proxies})
		b.GET("/ip", func(c *gin.Context) { c.String(http.StatusOK, c.ClientIP()) })
		w := b.get("/ip", "X-Forwarded-For", "203.0.113.9", "X-Real-Ip", "198.51.100.1")
		require.Equal(t, want, w.Body.String())
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	preflight := []string{"Origin", "https://play.example", "Access-Control-Request-Method", "POST"}
	off := setup(t, rest.Options{})
	w := off.serve(request(http.MethodOptions, "/join", "", preflight...))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))

	on := setup(t, rest.Options{CORSOrigins: []string{"https://play.example"}})
	w = on.serve(request(http.MethodOptions, "/join", "", preflight...))
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Equal(t, "https://play.example", w.Header().Get("Access-Control-Allow-Origin"))
	require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "Authorization")
	w = on.post(`{`, "Origin", "https://play.example")
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, "https://play.example", w.Header().Get("Access-Control-Allow-Origin"),
		"browsers may read errors too")
	require.Contains(t, w.Header().Get("Access-Control-Expose-Headers"), "Retry-After")
	require.Equal(t, http.StatusForbidden, on.post(`{}`, "Origin", "https://evil.example").Code)
	require.Equal(t, http.StatusOK, on.post(with(`"seats":1`)).Code, "game servers send no Origin")
}

func TestTracing(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	b := setup(t, rest.Options{
		Tracer:         sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
		UntracedRoutes: []string{"/healthz"},
	})
	b.GET("/healthz", func(*gin.Context) {})
	b.get("/healthz")
	require.Empty(t, spans.Ended(), "probes are not traced")

	b.post(with(`"seats":1`), "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	require.Len(t, spans.Ended(), 1)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", spans.Ended()[0].SpanContext().TraceID().String())
	lines := b.lines(t)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", lines[len(lines)-1]["trace_id"])
}

// A protocol with errors of its own has them for what the toolkit refuses, too: unknown routes, panics, bodies, gates.
func TestErrorsInTheFormatOfAnotherProtocol(t *testing.T) {
	t.Parallel()
	write := func(w http.ResponseWriter, err error) string {
		p := rest.ProblemOf(err)
		w.WriteHeader(p.Status)
		_, _ = w.Write([]byte("<" + p.Code + ">"))
		return "theirs"
	}
	full := rest.NewGate(1, nil, nil)
	b := setup(t, rest.Options{ErrorWriter: write})
	b.GET("/panic", func(*gin.Context) { panic("boom") })
	b.GET("/held", full.Enter, func(c *gin.Context) {
		c.String(http.StatusOK, b.get("/busy").Body.String())
	})
	b.GET("/busy", full.RefuseWhenFull)
	for path, want := range map[string]string{"/nothing": "<route_not_found>", "/panic": "<internal>",
		"/held": "<unavailable>"} {
		w := b.get(path)
		require.Equal(t, want, w.Body.String())
		require.Empty(t, w.Header().Get("Retry-After"))
	}
	w := b.post(`[]`)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, "<invalid_json>", w.Body.String())
	lines := b.lines(t)
	require.Equal(t, "theirs", lines[len(lines)-1]["code"])
}

// text is a result that writes itself.
type text string

func (s text) Answer(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write([]byte(r.URL.Path + " " + string(s)))
}

func TestResultsMayWriteThemselves(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.GET("/text", rest.Handle(http.StatusOK, func(_ context.Context, in rest.In[rest.None]) (text, error) {
		return text(strings.Join(in.Queries("q"), "+")), nil
	}))
	w := b.get("/text?q=1&q=2")
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Equal(t, "/text 1+2", w.Body.String())
}
