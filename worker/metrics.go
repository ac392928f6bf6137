package worker

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count the runs of all loops of a process.
type metrics struct {
	runs     *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	rowsDone *prometheus.CounterVec
	success  *prometheus.GaugeVec
}

func newMetrics(to prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_worker_runs_total", Help: "Runs of a worker loop, by result: ok or failed.",
		}, []string{"loop", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "director_worker_run_seconds", Help: "Duration of a run of a worker loop.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // 1 ms to about a minute
		}, []string{"loop"}),
		rowsDone: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_worker_done_total", Help: "Objects that a worker loop handled, by kind.",
		}, []string{"loop", "what"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "director_worker_last_success_timestamp_seconds",
			Help: "Unix time of the loop's last successful run in this process.",
		}, []string{"loop"}),
	}
	if to == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.runs, m.seconds, m.rowsDone, m.success} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("worker metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) observe(r result) {
	m.seconds.WithLabelValues(r.loop).Observe(r.took.Seconds())
	for what, n := range r.done {
		m.rowsDone.WithLabelValues(r.loop, what).Add(float64(n))
	}
	if r.err != nil {
		m.runs.WithLabelValues(r.loop, "failed").Inc()
		return
	}
	m.runs.WithLabelValues(r.loop, "ok").Inc()
	m.success.WithLabelValues(r.loop).Set(float64(time.Now().UnixMilli()) / 1000)
}
