package proof

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// twice is the result of an overload with that many answers a second, of which half arrived in time.
func twice(perSecond float64, errors map[string]int64) bench.Result {
	r := bench.Result{Figures: bench.Figures{PerSecond: perSecond, Calls: 1000, Errors: errors}, Seconds: 1, Open: &bench.Open{Rate: 2000}, Costs: &bench.Costs{}}
	r.Latency = bench.Latency{P50: 900, P99: 1500, Curve: []bench.Point{{Percentile: 25, MS: 300}, {Percentile: 50, MS: 900}, {Percentile: 75, MS: 901}, {Percentile: 100, MS: 1600}}}
	for _, n := range errors {
		r.Failed += n
	}
	return r
}

// Pins goodput that counts answers after their callers' timeouts, and refusals without Retry-After.
func TestOverload(t *testing.T) {
	t.Parallel()
	result := twice(1600, map[string]int64{"503 unavailable": 5, "503 unavailable without Retry-After": 2, "429 rate_limited": 1, "timeout": 3, "409 no_capacity": 4})
	result.Costs = &bench.Costs{GeneratorMicros: 500, ServerRSS: 300 << 20}
	all := rounds{{greatest: bench.Result{Figures: bench.Figures{PerSecond: 1000}, Costs: &bench.Costs{}}, overloaded: result}}
	require.InDelta(t, 800, goodput(result), 1e-9)
	found := all.overload(50 << 20)
	require.Equal(t, "80.0 %", found[0].Value)
	require.True(t, found[0].Met)
	require.Contains(t, found[0].Note, "800/s of 1,000/s, at an offered load of 2,000/s. The load took 0.50 CPUs")
	require.Equal(t, "9", found[1].Value)
	require.Contains(t, found[1].Note, "2 × 503 unavailable without Retry-After, 3 × timeout")
	require.Equal(t, []bool{false, false}, []bool{found[1].Met, found[2].Met})
	require.Contains(t, found[3].Note, "50 MiB at rest")
}

// Pins calls that all failed and look fast.
func TestNothingWentWell(t *testing.T) {
	t.Parallel()
	dead := bench.Result{Figures: bench.Figures{Calls: 10, Failed: 10}}
	require.True(t, math.IsNaN(p99OfSuccess(dead)))
	require.Zero(t, goodput(dead))
}

// Pins a replica that answers no probe under overload, which no finding reports.
func TestPulse(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	replica := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer replica.Close()
	var p probes
	require.ErrorContains(t, p.beside(t.Context(), replica.URL, func() error {
		for asked.Load() < 6 {
			<-time.After(time.Millisecond)
		}
		return fmt.Errorf("done")
	}), "done")
	require.GreaterOrEqual(t, len(p.took["/healthz"]), 2)
	require.Empty(t, p.took["/.well-known/jwks.json"])
	found := p.findings()
	require.Equal(t, []bool{true, false, false}, []bool{found[0].Met, found[1].Met, found[2].Met})
	require.Equal(t, "not measured", found[1].Value)
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 4, 2, 3}
	require.Equal(t, []float64{1, 3, 4, 5}, []float64{quantile(values, 0), quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)})
	require.Equal(t, []float64{5, 1, 4, 2, 3}, values)
}
