package bevygap

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	waitingRequests prometheus.GaugeFunc
	requests        *prometheus.CounterVec
	readySeconds    prometheus.Histogram
	panics          *prometheus.CounterVec
}

func newMetrics(waiting func() float64) *metrics {
	return &metrics{
		waitingRequests: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "director_bevygap_waiting",
			Help: "Requests of bevygap clients that wait for a server in this replica, or for its token.",
		}, waiting),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_bevygap_requests_total",
			Help: "Requests of bevygap clients by outcome: ready (got a server), left (the client closed), refused (no " +
				"slot), or the code of the error frame.",
		}, []string{"outcome"}),
		readySeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_bevygap_ready_seconds", Help: "Time from the request of a bevygap client to its server.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120},
		}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_bevygap_panics_total",
			Help: "Recovered panics of the bevygap face, by goroutine. Each is a defect: its stack is in the log.",
		}, []string{"goroutine"}),
	}
}

func (m *metrics) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.waitingRequests, m.requests, m.readySeconds, m.panics} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("bevygap: %w", err)
		}
	}
	return nil
}
