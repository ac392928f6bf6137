package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/provider"
)

// provisionMetrics count what the loops provision and orphans do.
type provisionMetrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	phases  *prometheus.GaugeVec
	ready   *prometheus.HistogramVec
	orphans *prometheus.CounterVec
	foreign prometheus.Gauge

	owned atomic.Bool
	last  time.Time // when the database was read, in the loop's goroutine
	since map[string]time.Time
}

// metricsInterval is how often the deployments are counted: the count reads all of them.
const metricsInterval = 10 * time.Second

func newProvisionMetrics(to prometheus.Registerer) (*provisionMetrics, error) {
	m := &provisionMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_provider_calls_total",
			Help: "Calls of a provider, by operation and result: ok, or the kind of error.",
		}, []string{"provider", "operation", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "director_provider_call_seconds", Help: "Duration of a call of a provider, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 12), // 10 ms to 20 s
		}, []string{"provider", "operation"}),
		phases: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "director_deployments",
			Help: "Deployments in the database, by provider and phase. All workers report the same numbers.",
		}, []string{"provider", "phase"}),
		ready: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "director_deployment_ready_seconds",
			Help:    "Time from the decision to start a server until players could join. All workers report the same servers: quantiles are right, counts are per worker.",
			Buckets: prometheus.ExponentialBuckets(0.25, 2, 12), // 250 ms to 8 minutes
		}, []string{"provider"}),
		orphans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_orphans_stopped_total",
			Help: "Servers that ran at a provider without a deployment, and were stopped.",
		}, []string{"provider"}),
		foreign: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_provision_foreign_database",
			Help: "1 if this worker provisions nothing because the database belongs to another owner.",
		}),
		since: map[string]time.Time{},
	}
	if to == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.calls, m.seconds, m.phases, m.ready, m.orphans, m.foreign} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("worker metrics: %w", err)
		}
	}
	return m, nil
}

func (m *provisionMetrics) call(name string, op operation, err error, took time.Duration) {
	result := "ok"
	if err != nil {
		result = string(provider.KindOf(err))
	}
	m.calls.WithLabelValues(name, string(op), result).Inc()
	m.seconds.WithLabelValues(name, string(op)).Observe(took.Seconds())
}

func (m *provisionMetrics) setOwned(owned bool) {
	m.owned.Store(owned)
	m.foreign.Set(0)
	if !owned {
		m.foreign.Set(1)
	}
}

// read counts the deployments in the database, once in metricsInterval.
func (m *provisionMetrics) read(ctx context.Context, store *db.Store) error {
	if time.Since(m.last) < metricsInterval {
		return nil
	}
	// Before the read, so that a database that fails is not asked in every run.
	m.last = time.Now()
	// The times in since move with each read, so that a server is observed once by each worker.
	counts, ready, err := store.DeploymentStatistics(ctx, m.since)
	if err != nil {
		return err
	}
	m.phases.Reset()
	for _, c := range counts {
		m.phases.WithLabelValues(c.Provider, string(c.Phase)).Set(float64(c.Deployments))
	}
	for _, r := range ready {
		m.ready.WithLabelValues(r.Provider).Observe(r.Seconds)
	}
	return nil
}
