package rest_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/rest"
)

// BenchmarkMatchmake measures what the toolkit adds to a call of a player: all middlewares, a typed handler, and a
// small body in each direction.
func BenchmarkMatchmake(b *testing.B) {
	m, err := rest.NewMetrics(prometheus.NewRegistry())
	require.NoError(b, err)
	nowhere := io.MultiWriter() // unlike slog.DiscardHandler, it has the access log line formatted
	engine, err := rest.New(rest.Options{Log: slog.New(slog.NewJSONHandler(nowhere, nil)), Metrics: m})
	require.NoError(b, err)
	verify := func(context.Context, string) (string, error) { return "alice", nil }
	engine.POST("/matchmake",
		rest.RequireBearer(verify, nil), rest.LimitCaller(rest.NewLimiter(rest.Rate{PerSecond: 1e9, Burst: 1e6})),
		rest.NewBodies(1000, time.Second).Read, rest.NewGate(1000, nil, nil).Enter, rest.SetDeadline(time.Second),
		rest.Handle(http.StatusOK, matchmake))

	body := strings.NewReader("")
	w := &discard{header: http.Header{}}
	r := request(http.MethodPost, "/matchmake", "", "Authorization", "Bearer token", "X-Request-Id", "bench")
	r.Body = io.NopCloser(body)
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(`{"region":"eu","mode":"duel","party":["alice","bob"],"max_players":8}`)
		clear(w.header)
		engine.ServeHTTP(w, r)
	}
	require.Equal(b, http.StatusOK, w.status)
}

type matchmakeRequest struct {
	Region     string   `json:"region"`
	Mode       string   `json:"mode"`
	Party      []string `json:"party"`
	MaxPlayers *int     `json:"max_players"`
}

func (r *matchmakeRequest) Validate(c *rest.Check) {
	c.Match("region", r.Region, rest.Region)
	c.Match("mode", r.Mode, rest.Mode)
	c.Each("party", r.Party, rest.Sub)
	c.Unique("party", r.Party)
}

type matchmakeAnswer struct {
	SessionHandle string `json:"session_handle"`
	SessionID     string `json:"session_id"`
	Endpoint      string `json:"endpoint"`
	Region        string `json:"region"`
	Mode          string `json:"mode"`
	PlayerCount   int    `json:"player_count"`
	MaxPlayers    int    `json:"max_players"`
}

func matchmake(_ context.Context, in rest.In[matchmakeRequest]) (matchmakeAnswer, error) {
	return matchmakeAnswer{
		SessionHandle: "eu.0123456789abcdef0123456789abcdef", SessionID: "eu.6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		Endpoint: "203.0.113.9:7777", Region: in.Body.Region, Mode: in.Body.Mode, PlayerCount: 2, MaxPlayers: 8,
	}, nil
}

// discard is a response writer without cost.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
