// Package telemetry is what Prometheus sees of a replica: requests, groups of calls, connections, signing keys, the
// clock and what keeps the database from cleaning up. It measures and decides nothing. Workers count for themselves.
package telemetry

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lattice-director/director/server/rest"
)

// Metrics counts what happens. It is made before everything else, because the store reports to it (db.GroupObserver).
// Safe for concurrent use.
type Metrics struct {
	HTTP *rest.Metrics

	registry *prometheus.Registry
	groups   groups
	snapshot snapshotAge
}

// New registers the metrics of the process and of its build; it fails when some of their names are registered already.
func New(registry *prometheus.Registry, version string) (*Metrics, error) {
	requests, err := rest.NewMetrics(registry)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	m := &Metrics{HTTP: requests, registry: registry, groups: newGroups()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "director_build_info", Help: "Always 1; the labels say what runs here.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	all := append(m.groups.collectors(), build, m.snapshot.collector(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m, m.register(all...)
}

func (m *Metrics) register(all ...prometheus.Collector) error {
	for _, c := range all {
		if err := m.registry.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}

// Flight implements db.GroupObserver.
func (m *Metrics) Flight(group string, calls int, waited, took time.Duration) {
	m.groups.flight(group, calls, waited, took)
}

// Panic implements db.GroupObserver.
func (m *Metrics) Panic(group string) { m.groups.panics.WithLabelValues(group).Inc() }

// Handler answers /metrics, and /debug/pprof/ with profiles of the process. It is for operators only.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
