package worker

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/estimate"
)

// formerLineFor is how long the estimates of another worker are left while this one knows too little.
const formerLineFor = 15 * time.Minute

// lineEstimates estimates how long players of login queues wait. Each worker does; the database takes the estimates of
// one. What it learns from is a sample, of about two players a second and line.
type lineEstimates struct {
	store    *db.Store
	workerID uuid.UUID
	byValve  map[string]*valveLine
}

type valveLine struct {
	line    estimate.Line
	begunAt time.Time
}

func newLineEstimates(store *db.Store) *lineEstimates {
	return &lineEstimates{store: store, workerID: uuid.New(), byValve: map[string]*valveLine{}}
}

// observe looks at the line of a valve that is not open. Where publishes is set, it learns from the players who were
// admitted since the last time, and puts new estimates. Errors: Unavailable.
func (e *lineEstimates) observe(ctx context.Context, l *db.LoginLine, publishes bool) error {
	v := e.byValve[l.Valve()]
	if v == nil {
		v = &valveLine{begunAt: time.Now()}
		e.byValve[l.Valve()] = v
	}
	look := l.Look()
	if places := v.line.Observe(look); len(places) > 0 {
		players, err := e.store.SampleLine(ctx, l.Valve(), places)
		if err != nil {
			return err
		}
		for _, p := range players {
			v.line.Join(p.Place, p.Player, p.JoinedAt)
		}
	}
	if !publishes {
		return nil
	}
	if passed := v.line.Passed(); len(passed) > 0 {
		admitted, err := e.store.AdmittedSample(ctx, l.Valve(), passed)
		if err != nil {
			return err
		}
		v.line.Admit(admitted)
	}
	// Nobody sees an estimate of a line in which nobody waits, and its next player has one of the last half minute.
	if look.Waiting == 0 {
		return nil
	}
	_, err := e.store.PutLineEstimate(ctx, l.Valve(), db.LineEstimate{
		Worker: e.workerID, Positions: v.line.Publish(look.SeenAt), Calibration: v.line.TakeCalibration(),
		KeepsFormer: time.Since(v.begunAt) < formerLineFor,
	})
	return err
}

// forgetOthers forgets the lines of valves that are open or gone.
func (e *lineEstimates) forgetOthers(lines []*db.LoginLine) {
	limiting := map[string]bool{}
	for _, l := range lines {
		limiting[l.Valve()] = l.Mode() != db.ValveOpen
	}
	for valve := range e.byValve {
		if !limiting[valve] {
			delete(e.byValve, valve)
		}
	}
}
