package loop

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what operators see of the loop of one worker.
type metrics struct {
	decide     prometheus.Histogram
	commit     prometheus.Histogram
	waited     prometheus.Histogram
	candidates prometheus.Gauge
	owned      prometheus.Gauge
	waiting    prometheus.Gauge
	takeovers  prometheus.Counter
	matches    *prometheus.CounterVec
	dropped    *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	seconds := prometheus.ExponentialBuckets(0.0005, 2, 14)
	m := &metrics{
		decide: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_loop_decide_seconds", Help: "How long one profile decided at a time.", Buckets: seconds}),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_loop_commit_seconds", Help: "How long a transaction of a batch of matches took.", Buckets: seconds}),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_loop_waited_seconds", Help: "How long tickets had waited when their match was committed.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 17)}),
		candidates: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_candidates", Help: "Tickets of the queue that this worker knows."}),
		owned: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_profiles", Help: "Profiles that this worker decides for."}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_waiting_for_server", Help: "Decided matches that wait for a server."}),
		takeovers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "director_loop_takeovers_total", Help: "How often this worker began to decide for a profile."}),
		matches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_loop_matches_total", Help: "Matches that were committed, by profile."}, []string{"profile"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_loop_dropped_total",
			Help: "Decided matches that were not committed, by why: gone (a ticket left or was taken), busy (another transaction decided about a player), " +
				"refused (a player is about to take a seat), bad (the database refused the data), error."}, []string{"why"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.decide, m.commit, m.waited, m.candidates, m.owned, m.waiting, m.takeovers, m.matches, m.dropped} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) observe(l *Loop) {
	m.candidates.Set(float64(l.queue.len()))
	m.owned.Set(float64(len(l.profiles)))
	m.waiting.Set(float64(len(l.waiting.jobs)))
}
