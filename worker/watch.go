package worker

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/internal/doctor"
)

// watcher makes the cheap checks of doctor, so that alerts fire on what `director doctor` and the console say. It
// changes nothing.
type watcher struct {
	doctor        doctor.Doctor
	severityGauge *prometheus.GaugeVec
	seenChecks    map[string]bool // checks that have a series
}

func newWatcher(d doctor.Doctor, to prometheus.Registerer) (*watcher, error) {
	w := &watcher{doctor: d, seenChecks: map[string]bool{}, severityGauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "director_finding_severity",
		Help: "What the checks of `director doctor` found that workers make every 15 seconds: 0 ok, 1 warn, 2 fail. " +
			"A check that could not be made, since an earlier one failed, has no value.",
	}, []string{"check"})}
	if to == nil {
		return w, nil
	}
	if err := to.Register(w.severityGauge); err != nil {
		return nil, fmt.Errorf("worker metrics: %w", err)
	}
	return w, nil
}

func (w *watcher) runOnce(ctx context.Context) (Done, error) {
	found := w.doctor.Watch(ctx)
	// Checks that were cut off would be reported as failed.
	if ctx.Err() != nil {
		return Done{}, ctx.Err()
	}
	// What remains in missing had a value in the last run, and has none now.
	missing := w.seenChecks
	w.seenChecks = map[string]bool{}
	for _, f := range found.Checks {
		w.severityGauge.WithLabelValues(f.Check).Set(float64(f.Severity()))
		w.seenChecks[f.Check] = true
		delete(missing, f.Check)
	}
	for check := range missing {
		w.severityGauge.DeleteLabelValues(check)
	}
	return Done{}, nil
}
