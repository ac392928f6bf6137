package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/gauges"
)

const (
	markEvery      = 2 * time.Second // a mark reads the whole line
	adoptEvery     = time.Minute     // between two searches for players who came in past a valve
	admitIdle      = time.Second     // between two looks at the valves while all are open
	admissionBatch = 5000            // rows of a step
)

// admitter admits the first players of login queues. Calls that give out places admit players as well, so without
// workers a line only moves when somebody joins it. Players are not counted in Done: the log would have a line for each
// run.
type admitter struct {
	store     *db.Store
	estimates *lineEstimates
	lookedAt  time.Time // when all valves were last found open
	markedAt  time.Time

	waitingGauge, playersGauge, rateGauge *gauges.Vec
}

func newAdmitter(store *db.Store, to prometheus.Registerer) (*admitter, error) {
	gauge := func(name, help string) *gauges.Vec { return gauges.New(name, help, "valve") }
	a := &admitter{
		store: store, estimates: newLineEstimates(store),
		waitingGauge: gauge("director_login_queue_waiting",
			"Players who wait in the line of a valve that does not let everybody in."),
		playersGauge: gauge("director_login_queue_players", "Players whom such a valve has admitted and who are in."),
		rateGauge: gauge("director_login_queue_rate",
			"Admissions a second of such a valve, about of the last minute."),
	}
	if to == nil {
		return a, nil
	}
	for _, g := range []prometheus.Collector{a.waitingGauge, a.playersGauge, a.rateGauge} {
		if err := to.Register(g); err != nil {
			return nil, fmt.Errorf("worker metrics: %w", err)
		}
	}
	return a, nil
}

func (a *admitter) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	// The loop runs five times a second for valves that are not open. Without one, the lines are read once a second.
	if time.Since(a.lookedAt) < admitIdle {
		return done, nil
	}
	lines, err := a.store.LoginLines(ctx)
	if err != nil {
		return done, err
	}
	a.setGauges(lines)
	// A mark reads the whole line, so it is made in every tenth run only.
	isIdle, marks := true, time.Since(a.markedAt) >= markEvery
	for _, l := range lines {
		if l.Mode() != db.ValveOpen {
			isIdle = false
			err = errors.Join(err, a.moveLine(ctx, l, marks), a.estimates.observe(ctx, l, marks))
		}
	}
	if marks {
		a.markedAt = time.Now()
	}
	a.estimates.forgetOthers(lines)
	if isIdle {
		a.lookedAt = time.Now()
	}
	return done, err
}

// moveLine admits the first players of a line and, where marks is set, marks the places that its players see.
func (a *admitter) moveLine(ctx context.Context, l *db.LoginLine, marks bool) (err error) {
	// A closed valve lets nobody in, but its line has marks: players see their place.
	if l.Mode() == db.ValveLimited && l.Waiting() > 0 {
		err = a.store.AdmitWaiting(ctx, l.Valve())
	}
	// Without players, the marks that are left are removed.
	if marks && (l.Waiting() > 0 || l.HasMarks()) {
		err = errors.Join(err, a.store.MarkLine(ctx, l.Valve()))
	}
	return err
}

// setGauges sets the gauges, without those of valves that are open or gone.
func (a *admitter) setGauges(lines []*db.LoginLine) {
	var waiting, players, rates []gauges.Series
	for _, l := range lines {
		if l.Mode() != db.ValveOpen {
			waiting = append(waiting, gauges.Value(float64(l.Waiting()), l.Valve()))
			players = append(players, gauges.Value(float64(l.Players()), l.Valve()))
			rates = append(rates, gauges.Value(l.Pace(), l.Valve()))
		}
	}
	a.waitingGauge.Show(waiting)
	a.playersGauge.Show(players)
	a.rateGauge.Show(rates)
}
