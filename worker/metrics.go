package worker

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count the runs of all loops of a process.
type metrics struct {
	runCount    *prometheus.CounterVec
	runSeconds  *prometheus.HistogramVec
	rowsDone    *prometheus.CounterVec
	lastSuccess *prometheus.GaugeVec
}

func newMetrics(to prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		runCount: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_worker_runs_total", Help: "Runs of a worker loop, by result: ok or failed.",
		}, []string{"loop", "result"}),
		runSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "director_worker_run_seconds", Help: "Duration of a run of a worker loop.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // 1 ms to about a minute
		}, []string{"loop"}),
		rowsDone: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_worker_done_total", Help: "Objects that a worker loop handled, by kind.",
		}, []string{"loop", "what"}),
		lastSuccess: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "director_worker_last_success_timestamp_seconds",
			Help: "Unix time of the loop's last successful run in this process.",
		}, []string{"loop"}),
	}
	if to == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.runCount, m.runSeconds, m.rowsDone, m.lastSuccess} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("worker metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) observeRun(r result) {
	m.runSeconds.WithLabelValues(r.loopName).Observe(r.runTime.Seconds())
	// Also of a run that failed: what it did before the error is committed.
	for what, n := range r.doneCounts {
		m.rowsDone.WithLabelValues(r.loopName, what).Add(float64(n))
	}
	if r.err != nil {
		m.runCount.WithLabelValues(r.loopName, "failed").Inc()
		return
	}
	m.runCount.WithLabelValues(r.loopName, "ok").Inc()
	m.lastSuccess.WithLabelValues(r.loopName).Set(float64(time.Now().UnixMilli()) / 1000)
}
