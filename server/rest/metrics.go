package rest

import (
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests: rate, errors and duration for each route pattern. Several engines may share one.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge

	unreadableClients prometheus.Counter

	routeTally *tally // nil: of operators
}

// NewMetrics registers the metrics. It fails when one of their names is already registered.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		routeTally: &tally{countsByRoute: map[string]*RouteCount{}},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_http_requests_total",
			Help: "HTTP requests answered. Status 499: the caller disconnected before the answer.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "director_http_request_duration_seconds",
			Help:    "Duration of HTTP requests, from their headers to the end of the answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_http_requests_in_flight",
			Help: "HTTP requests being served now.",
		}),
		unreadableClients: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "director_http_unreadable_clients_total",
			Help: "HTTP requests in whose X-Forwarded-For a trusted proxy wrote something else than an address. " +
				"Their callers count as one.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.inFlight, m.unreadableClients} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) observeRequest(c *gin.Context) {
	start := time.Now()
	m.inFlight.Inc()
	defer func() {
		m.inFlight.Dec()
		pattern, method := routePattern(c), c.Request.Method
		m.countRequest(pattern, method, c.Writer.Status())
		m.duration.WithLabelValues(pattern, methodLabel(method)).Observe(time.Since(start).Seconds())
	}()
	c.Next()
}

func (m *Metrics) countRequest(route, method string, status int) {
	m.requests.WithLabelValues(route, methodLabel(method), strconv.Itoa(status)).Inc()
	m.routeTally.countRequest(route, method, status)
}
