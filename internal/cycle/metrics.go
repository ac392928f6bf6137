package cycle

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/match"
)

// metrics tell of cycles that this replica ran, and of calls that it took.
type metrics struct {
	cycles   *prometheus.CounterVec
	seconds  prometheus.Histogram
	verdicts *prometheus.CounterVec
	waiting  prometheus.Gauge
}

// Beside the verdicts: what the default evaluator was not shown, and what there was no time for.
const (
	unreadable = "score_unreadable"
	outOfTime  = "out_of_time"
)

func newMetrics(to prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		cycles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_match_cycles_total",
			Help: "Cycles of FetchMatches that this replica ran, by result: ok, failed for all callers, deserted by them, or lost to another replica or the database.",
		}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_match_cycle_seconds", Help: "How long cycles of FetchMatches took that this replica ran to their end.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 14), // 4 ms to half a minute
		}),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_match_verdicts_total",
			Help: "What became of matches that an evaluator accepted: kept, or dropped and why.",
		}, []string{"verdict"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_match_calls", Help: "Calls of FetchMatches that this replica serves now.",
		}),
	}
	for _, v := range match.Verdicts() {
		m.verdicts.WithLabelValues(v.String())
	}
	m.verdicts.WithLabelValues(unreadable)
	m.verdicts.WithLabelValues(outOfTime)
	if to == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.cycles, m.seconds, m.verdicts, m.waiting} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("cycle metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) ended(result string, began time.Time) {
	m.cycles.WithLabelValues(result).Inc()
	if result == "ok" {
		m.seconds.Observe(time.Since(began).Seconds())
	}
}
