package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
)

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
