// Package telemetry holds the Prometheus metrics of a replica: requests, batches of calls, database connections,
// signing keys, the clock and the oldest snapshot, which holds vacuum back. Other packages register theirs with
// [Metrics.Registerer].
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

// Metrics holds the metrics of a replica. It is made before the store, which reports its batches to it
// (db.GroupObserver). Safe for concurrent use.
type Metrics struct {
	HTTP *rest.Metrics

	registry *prometheus.Registry
	groups   groups
	snapshot snapshotAge
}

// New registers the metrics of the process and of its build. It fails when one of their names is already registered.
func New(registry *prometheus.Registry, version string) (*Metrics, error) {
	requests, err := rest.NewMetrics(registry)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	m := &Metrics{HTTP: requests, registry: registry, groups: newGroups()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "director_build_info", Help: "Always 1. The labels hold the version of the director and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	all := append(m.groups.collectors(), build, m.snapshot.collector(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m, m.registerAll(all...)
}

func (m *Metrics) registerAll(all ...prometheus.Collector) error {
	for _, c := range all {
		if err := m.registry.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}

// Registerer returns where parts of a replica register metrics of their own.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// Batch implements db.GroupObserver.
func (m *Metrics) Batch(group string, calls int, waited, took time.Duration) {
	m.groups.observeBatch(group, calls, waited, took)
}

// Panic implements db.GroupObserver.
func (m *Metrics) Panic(group string) { m.groups.panics.WithLabelValues(group).Inc() }

// Handler serves /metrics and, under /debug/pprof/, profiles of the process. It must be reachable for operators only.
func (m *Metrics) Handler() http.Handler {
	// In http.DefaultServeMux any package could register further routes.
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
