package loop

import "github.com/prometheus/client_golang/prometheus"

// Why a loop begins anew: the values of the label why of beginningsAnew.
const (
	anewReading  = "database"
	anewLease    = "lease"
	anewRestored = "postgres_restarted"
	anewFailed   = "panic"
)

// Why a decided match was not committed: the values of the label why of droppedMatches.
const (
	droppedGone    = "gone"
	droppedBusy    = "busy"
	droppedRefused = "refused"
	droppedBad     = "bad"
	droppedError   = "error"
)

// metrics are what operators see of the loop of one worker.
type metrics struct {
	decideSeconds    prometheus.Histogram
	commitSeconds    prometheus.Histogram
	waitingTime      prometheus.Histogram
	candidateCount   prometheus.Gauge
	leftOut          prometheus.Gauge
	ownedProfiles    prometheus.Gauge
	waitingMatches   prometheus.Gauge
	oldestWait       prometheus.Gauge
	unownedProfiles  prometheus.Gauge
	feedLag          prometheus.GaugeFunc
	takeovers        prometheus.Counter
	committedMatches *prometheus.CounterVec
	droppedMatches   *prometheus.CounterVec
	lostHistory      prometheus.Counter
	readyChecks      *prometheus.CounterVec
	beginningsAnew   *prometheus.CounterVec

	functionCalls   *prometheus.CounterVec
	functionRefused *prometheus.CounterVec
}

// newMetrics makes the metrics of a loop; lag returns the seconds since the loop last read the changes of the queue.
func newMetrics(r prometheus.Registerer, lag func() float64) (*metrics, error) {
	seconds := prometheus.ExponentialBuckets(0.0005, 2, 14)
	m := &metrics{
		decideSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_loop_decide_seconds", Help: "How long one profile decided at a time.", Buckets: seconds}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_loop_commit_seconds", Help: "How long a transaction of a batch of matches took.",
			Buckets: seconds}),
		waitingTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_loop_waited_seconds", Help: "How long tickets had waited when their match was committed.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 17)}),
		candidateCount: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_candidates", Help: "Tickets of the queue that this worker knows."}),
		leftOut: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_left_out_tickets",
			Help: "Tickets of the queue that this worker has no place for in memory (a quarter of the memory " +
				"limit, or 400,000 tickets), and so does not match; counted once a minute."}),
		ownedProfiles: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_profiles", Help: "Profiles that this worker decides for."}),
		waitingMatches: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_waiting_for_server", Help: "Decided matches that wait for a server."}),
		oldestWait: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_oldest_waiting_seconds",
			Help: "Age of the oldest ticket in a match that waits for a server; 0 without one."}),
		unownedProfiles: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "director_loop_unowned_profiles",
			Help: "Profiles that no worker decides for, as this worker sees them."}),
		feedLag: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "director_loop_feed_lag_seconds",
			Help: "Time since this worker last read all changes of the queue; about a second while nothing changes."},
			lag),
		takeovers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "director_loop_takeovers_total", Help: "How often this worker began to decide for a profile."}),
		committedMatches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_loop_matches_total", Help: "Matches that were committed, by profile."},
			[]string{"profile"}),
		droppedMatches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_loop_dropped_total",
			Help: "Decided matches that were not committed, by why: gone (a ticket left or was taken), busy " +
				"(another transaction decided about a player), refused (a player is about to take a seat), " +
				"bad (the database refused the data), error."},
			[]string{"why"}),
		lostHistory: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "director_loop_history_lost_total",
			Help: "Tickets whose history was not written, or not when this worker saw them: the database could not " +
				"be reached for too long, or refused the data."}),
		readyChecks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_loop_accept_total",
			Help: "Ready checks that ended, by outcome: accepted (the match was committed), failed (a player " +
				"declined or did not answer, or a ticket left)."}, []string{"outcome"}),
		beginningsAnew: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_loop_restarts_total",
			Help: "How often this worker's director loop began anew, by why: database (a call failed), lease (it " +
				"could not be renewed in time), postgres_restarted (the whole queue is read again), " +
				"panic (of the loop or of one profile)."},
			[]string{"why"}),
		functionCalls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_loop_function_calls_total",
			Help: "Calls of the match functions of profiles, by profile and result: ok or failed."},
			[]string{"profile", "result"}),
		functionRefused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_loop_function_refused_total",
			Help: "Proposed matches of profiles' match functions that the worker refused, by reason: " +
				"unknown_ticket, taken, no_candidate, same_ticket, same_player, empty, size, teams, backfill."},
			[]string{"why"}),
	}
	for _, why := range []string{anewReading, anewLease, anewRestored, anewFailed} {
		m.beginningsAnew.WithLabelValues(why) // so that the first one is an increase
	}
	return m, m.registerAll(r)
}

// registerAll registers the metrics, unless r is nil.
func (m *metrics) registerAll(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	for _, c := range []prometheus.Collector{m.decideSeconds, m.commitSeconds, m.waitingTime, m.candidateCount,
		m.leftOut, m.ownedProfiles, m.waitingMatches, m.takeovers, m.committedMatches, m.droppedMatches,
		m.lostHistory, m.beginningsAnew, m.oldestWait, m.unownedProfiles, m.feedLag, m.readyChecks, m.functionCalls,
		m.functionRefused} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}
