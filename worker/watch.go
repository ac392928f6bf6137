package worker

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/internal/base/gauges"
	"github.com/lattice-director/director/internal/doctor"
)

// watcher makes the cheap checks of doctor, so that alerts fire on what `director doctor` and the console say. It
// changes nothing.
type watcher struct {
	doctor        doctor.Doctor
	severityGauge *gauges.Vec
}

func newWatcher(d doctor.Doctor, to prometheus.Registerer) (*watcher, error) {
	w := &watcher{doctor: d, severityGauge: gauges.New("director_finding_severity",
		"What the checks of `director doctor` found that workers make every 15 seconds: 0 ok, 1 warn, 2 fail. "+
			"A check that could not be made, since an earlier one failed, has no value.", "check")}
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
	severities := make([]gauges.Series, len(found.Checks))
	for i, f := range found.Checks {
		severities[i] = gauges.Value(float64(f.Severity()), f.Check)
	}
	w.severityGauge.Show(severities)
	return Done{}, nil
}
