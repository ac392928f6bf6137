package rest_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/server/rest"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m, err := rest.NewMetrics(reg)
	require.NoError(t, err)
	b := setup(t, rest.Options{Metrics: m}).fails(context.Canceled)
	b.GET("/sessions/:id", rest.Handle(http.StatusOK, func(context.Context, rest.In[rest.None]) (rest.None, error) {
		require.Equal(t, 1.0, metrictest.Sum(t, reg, "director_http_requests_in_flight"))
		panic("boom")
	}))
	for i := range 10 {
		b.get("/sessions/" + strconv.Itoa(i))
		b.get("/nothing/" + strconv.Itoa(i))
		b.serve(request("M"+strconv.Itoa(i), "/join", ""))
	}
	b.get("/fail")
	require.Equal(t, 0.0, metrictest.Sum(t, reg, "director_http_requests_in_flight"))
	require.Equal(t, 31.0, metrictest.Sum(t, reg, "director_http_requests_total"))
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Len(t, families, 4)
	for _, f := range families {
		require.LessOrEqual(t, len(f.GetMetric()), 4, "callers must not be able to create series")
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)

	_, err = rest.NewMetrics(reg)
	require.Error(t, err, "registered twice")
}

// Pins counts for operators that leave out what a full gate refuses, or that have probes, strangers and operators among
// the requests of the game.
func TestRequestsAreTallied(t *testing.T) {
	t.Parallel()
	m, err := rest.NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	answers := func(o rest.Options, status int, paths ...string) {
		b := setup(t, o)
		for _, path := range paths {
			b.GET(path, func(c *gin.Context) { c.Status(status) })
			b.get(path)
		}
	}
	game, console := rest.Options{Metrics: m}, rest.Options{Metrics: m.OfOperators()}
	answers(game, http.StatusOK, "/sessions/:id", "/healthz", "/readyz")
	answers(game, http.StatusConflict, "/sessions/:id")
	answers(game, 499, "/sessions/:id")
	answers(game, http.StatusServiceUnavailable, "/sessions/:id")
	answers(console, http.StatusInternalServerError, "/fleet")
	setup(t, game).get("/wp-login.php")
	want := []rest.RouteCount{{Route: "GET /sessions/:id", Requests: 4, Refused: 1, Failed: 1}}
	taken := m.TakeCounts()
	require.Equal(t, want, taken)
	require.Empty(t, m.TakeCounts())
	m.ReturnCounts(taken)
	answers(game, http.StatusOK, "/sessions/:id")
	want[0].Requests++
	require.Equal(t, want, m.TakeCounts())
}
