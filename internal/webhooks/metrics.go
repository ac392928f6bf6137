package webhooks

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/gauges"
)

// metrics count deliveries, and show how far webhooks have come. The gauges have at most db.MaxWebhooks label values at
// a time; the counter keeps those of deleted webhooks until the process ends.
type metrics struct {
	deliveryCounts *prometheus.CounterVec
	lagSeconds     *gauges.Vec
	failingSince   *gauges.Vec
	deadLetters    *gauges.Vec
}

func newMetrics(to prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) *gauges.Vec { return gauges.New(name, help, "webhook") }
	m := &metrics{
		deliveryCounts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_webhook_deliveries_total",
			Help: "Deliveries to a webhook by this worker, by result: delivered, failed (it is tried again), or dead.",
		}, []string{"webhook", "result"}),
		lagSeconds: gauge("director_webhook_lag_seconds",
			"Time since the oldest event that a webhook has not got; dead letters and paused webhooks do not count."),
		failingSince: gauge("director_webhook_failing_seconds",
			"Time since the first delivery to a webhook failed after the last that succeeded; 0: it does not fail."),
		deadLetters: gauge("director_webhook_dead_letters", "Events that a webhook could not get in three days."),
	}
	if to == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.deliveryCounts, m.lagSeconds, m.failingSince, m.deadLetters} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of webhooks: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) countStep(webhook string, step db.WebhookStep) {
	failed, dead := 0, 0
	for _, u := range step.UndeliveredLetters {
		switch {
		case u.IsDead:
			dead++
		case u.AttemptError != "":
			failed++
		}
	}
	if step.IsFailing && step.DeliveryError != "" && failed == 0 {
		failed = 1 // a round in which nothing was delivered and nothing stored
	}
	for result, n := range map[string]int{"delivered": step.SentCount, "failed": failed, "dead": dead} {
		if n > 0 {
			m.deliveryCounts.WithLabelValues(webhook, result).Add(float64(n))
		}
	}
}

func (m *metrics) showWebhooks(all []opsview.Webhook, now time.Time) {
	var lags, failings, letters []gauges.Series
	for _, w := range all {
		var lag, failing time.Duration
		if w.State != "paused" {
			lag = w.Lag
		}
		if w.State == "failing" && w.FailingSince != nil {
			failing = now.Sub(*w.FailingSince)
		}
		lags = append(lags, gauges.Value(lag.Seconds(), w.Name))
		failings = append(failings, gauges.Value(failing.Seconds(), w.Name))
		letters = append(letters, gauges.Value(float64(w.DeadLetters), w.Name))
	}
	m.lagSeconds.Show(lags)
	m.failingSince.Show(failings)
	m.deadLetters.Show(letters)
}
