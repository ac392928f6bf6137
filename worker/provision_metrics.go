package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/gauges"
	"github.com/lattice-director/director/provider"
)

// provisionMetrics count what the loops provision and orphans do.
type provisionMetrics struct {
	callCount       *prometheus.CounterVec
	callSeconds     *prometheus.HistogramVec
	phaseGauge      *gauges.Vec
	readySeconds    *prometheus.HistogramVec
	orphansStopped  *prometheus.CounterVec
	foreignDatabase prometheus.Gauge

	countedAt  time.Time // when the database was read, in the loop's goroutine
	readySince map[string]time.Time
}

// metricsInterval is how often the deployments are counted: the count reads all of them.
const metricsInterval = 10 * time.Second

func newProvisionMetrics(to prometheus.Registerer) (*provisionMetrics, error) {
	m := &provisionMetrics{
		callCount: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_provider_calls_total",
			Help: "Calls of a provider, by operation and result: ok, or the kind of error.",
		}, []string{"provider", "operation", "result"}),
		callSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "director_provider_call_seconds", Help: "Duration of a call of a provider, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 12), // 10 ms to 20 s
		}, []string{"provider", "operation"}),
		phaseGauge: gauges.New("director_deployments",
			"Deployments in the database, by provider and phase. All workers report the same numbers.",
			"provider", "phase"),
		readySeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "director_deployment_ready_seconds",
			Help: "Time from the decision to start a server until players could join. All workers report the same " +
				"servers: quantiles are right, counts are per worker.",
			Buckets: prometheus.ExponentialBuckets(0.25, 2, 12), // 250 ms to 8 minutes
		}, []string{"provider"}),
		orphansStopped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_orphans_stopped_total",
			Help: "Servers that ran at a provider without a deployment, and were stopped.",
		}, []string{"provider"}),
		foreignDatabase: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_provision_foreign_database",
			Help: "1 if this worker provisions nothing because the database belongs to another owner.",
		}),
		readySince: map[string]time.Time{},
	}
	if to == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.callCount, m.callSeconds, m.phaseGauge, m.readySeconds, m.orphansStopped,
		m.foreignDatabase} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("worker metrics: %w", err)
		}
	}
	return m, nil
}

func (m *provisionMetrics) observeCall(name string, op operation, err error, took time.Duration) {
	result := "ok"
	if err != nil {
		result = string(provider.KindOf(err))
	}
	m.callCount.WithLabelValues(name, string(op), result).Inc()
	m.callSeconds.WithLabelValues(name, string(op)).Observe(took.Seconds())
}

func (m *provisionMetrics) setOwned(owned bool) {
	foreign := 0.0
	if !owned {
		foreign = 1
	}
	m.foreignDatabase.Set(foreign)
}

// countDeployments counts the deployments in the database, once in metricsInterval, and sets the gauges.
func (m *provisionMetrics) countDeployments(ctx context.Context, store *db.Store) error {
	if time.Since(m.countedAt) < metricsInterval {
		return nil
	}
	// Before the read, so that a database that fails is not asked in every run.
	m.countedAt = time.Now()
	// The times in readySince advance with each read, so that each worker observes a server once.
	counts, ready, err := store.DeploymentStatistics(ctx, m.readySince)
	if err != nil {
		return err
	}
	phases := make([]gauges.Series, len(counts))
	for i, c := range counts {
		phases[i] = gauges.Value(float64(c.Deployments), c.Provider, string(c.Phase))
	}
	m.phaseGauge.Show(phases)
	for _, r := range ready {
		m.readySeconds.WithLabelValues(r.Provider).Observe(r.SecondsUntilReady)
	}
	return nil
}
