package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// groups measures db's group commit, which decides calls in batches: under load batches become larger, not more.
type groups struct {
	batchCalls, waitSeconds, callSeconds *prometheus.HistogramVec
	panics                               *prometheus.CounterVec
}

func newGroups() groups {
	seconds := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
			[]string{"group"})
	}
	return groups{
		batchCalls: histogram("director_group_calls", "Calls decided together in one batch.",
			prometheus.ExponentialBuckets(1, 2, 12)),
		waitSeconds: histogram("director_group_wait_seconds",
			"How long the oldest call of a batch waited for it to begin.",
			seconds),
		// The name is older than the word batch: renaming the metric would break dashboards.
		callSeconds: histogram("director_group_flight_seconds", "How long a batch took.", seconds),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_group_panics_total",
			Help: "Batches that failed by a panic. Their calls got an internal error; the log has the stack.",
		}, []string{"group"}),
	}
}

func (g groups) collectors() []prometheus.Collector {
	return []prometheus.Collector{g.batchCalls, g.waitSeconds, g.callSeconds, g.panics}
}

func (g groups) observeBatch(group string, calls int, waited, took time.Duration) {
	g.batchCalls.WithLabelValues(group).Observe(float64(calls))
	g.waitSeconds.WithLabelValues(group).Observe(waited.Seconds())
	g.callSeconds.WithLabelValues(group).Observe(took.Seconds())
}
