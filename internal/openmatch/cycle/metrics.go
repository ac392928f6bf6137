package cycle

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/match"
)

// metrics count the cycles that this replica owned, and its calls.
type metrics struct {
	cyclesByResult *prometheus.CounterVec
	cycleSeconds   prometheus.Histogram
	matchVerdicts  *prometheus.CounterVec
	runningCalls   prometheus.Gauge
}

// Values of the label verdict beside those of package match.
const (
	verdictUnreadable = "score_unreadable" // dropped before the default evaluator, which could not read the score
	verdictOutOfTime  = "out_of_time"      // accepted, and dropped because there was no time to commit it
)

func newMetrics(to prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		cyclesByResult: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_match_cycles_total",
			Help: "Cycles of FetchMatches that this replica owned, by result: ok, failed for all callers, deserted " +
				"by them, or lost to another replica or an outage.",
		}, []string{"result"}),
		cycleSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_match_cycle_seconds", Help: "Duration of the cycles of FetchMatches with result ok.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 14), // 4 ms to half a minute
		}),
		matchVerdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_match_verdicts_total",
			Help: "Matches that an evaluator accepted, and those whose score it could not read, by verdict: " +
				"kept, or the reason why they were dropped.",
		}, []string{"verdict"}),
		runningCalls: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_match_calls", Help: "Running calls of FetchMatches on this replica.",
		}),
	}
	for _, v := range match.Verdicts() {
		m.matchVerdicts.WithLabelValues(v.String())
	}
	m.matchVerdicts.WithLabelValues(verdictUnreadable)
	m.matchVerdicts.WithLabelValues(verdictOutOfTime)
	for _, c := range []prometheus.Collector{m.cyclesByResult, m.cycleSeconds, m.matchVerdicts, m.runningCalls} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("cycle metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) countEnded(result string, began time.Time) {
	m.cyclesByResult.WithLabelValues(result).Inc()
	if result == "ok" {
		m.cycleSeconds.Observe(time.Since(began).Seconds())
	}
}
