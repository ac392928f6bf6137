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
	markEvery      = 2 * time.Second // it reads the whole line
	adoptEvery     = time.Minute
	admitIdle      = time.Second // between two looks at valves none of which limits
	admissionBatch = 5000        // rows of a step
)

// admitter admits the first players of login queues. Calls that give out places do it as well, so without workers a
// line only moves when somebody joins it. It reports no players in Done: the log would have a line for each turn.
type admitter struct {
	store     *db.Store
	estimates *lineEstimates
	lookedAt  time.Time // when no valve limited
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
	// The loop runs five times a second for valves that limit. Without one, the lines are read once a second.
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
			err = errors.Join(err, a.turn(ctx, l, marks), a.estimates.observe(ctx, l, marks))
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

func (a *admitter) turn(ctx context.Context, l *db.LoginLine, marks bool) (err error) {
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

// admissionSweeper ends places and admissions of players who are away, and counts players who came in past a valve.
type admissionSweeper struct {
	store     *db.Store
	adoptedAt time.Time
}

func (s *admissionSweeper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	lines, err := s.store.LoginLines(ctx)
	if err != nil {
		return done, err
	}
	adopts := time.Since(s.adoptedAt) >= adoptEvery
	for _, l := range lines {
		err = errors.Join(err, s.drainSteps(ctx, l.Valve(), "admissions_ended", s.store.PruneLine, done))
		// Always while the valve is young: replicas whose copy of it is older may let players in who have no admission.
		if l.Mode() != db.ValveOpen && (adopts || l.IsYoung()) {
			err = errors.Join(err, s.drainSteps(ctx, l.Valve(), "players_adopted", s.store.AdoptPlayers, done))
		}
	}
	// Only after a success of all lines: otherwise the next run adopts again.
	if adopts && err == nil {
		s.adoptedAt = time.Now()
	}
	return done, err
}

func (s *admissionSweeper) drainSteps(ctx context.Context, valve, what string,
	step func(context.Context, string, int) (int, error), done Done) error {
	return done.drain(what, admissionBatch, func() (int, error) {
		return step(ctx, valve, admissionBatch)
	})
}
