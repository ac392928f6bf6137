package openmatch

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// callMetrics count calls, over gRPC and over REST.
type callMetrics struct {
	openCalls   *prometheus.GaugeVec     // by method
	callSeconds *prometheus.HistogramVec // by method and code
}

// newCallMetrics returns metrics that are registered, unless r is nil.
func newCallMetrics(r prometheus.Registerer) (*callMetrics, error) {
	m := &callMetrics{
		openCalls: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "director_openmatch_calls_open",
			Help: "Running calls of Open Match clients, by method; streams of watchers included.",
		}, []string{"method"}),
		callSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "director_openmatch_call_seconds",
			Help:    "Duration of Open Match clients' calls, by method and status code.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30},
		}, []string{"method", "code"}),
	}
	if r == nil {
		return m, nil
	}
	return m, errors.Join(r.Register(m.openCalls), r.Register(m.callSeconds))
}
