package provision

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// The causes of pauses of an app version in a region. The function start_pause says how long they last.
const (
	pauseOfFailures = "failures"
	pauseOfCapacity = "capacity"
)

// FailVersion counts a failure of a deployment's app version in its region that an operator has to repair. The third in
// a row pauses the version there for a minute, each further one for twice as long, 30 minutes at most. least is how
// many there were in a row, as far as the caller knows. It returns whether this failure has paused the version. Errors:
// Unavailable.
func (s *Store) FailVersion(ctx context.Context, d *Deployment, reason string, least int) (paused bool, err error) {
	return s.countPause(ctx, d, pauseOfFailures, reason, least)
}

// PauseWithoutCapacity makes the pool of a deployment start no further servers for a while: 5 seconds, doubled by each
// refusal, 5 minutes at most. Errors: Unavailable.
func (s *Store) PauseWithoutCapacity(ctx context.Context, d *Deployment, reason string) error {
	_, err := s.countPause(ctx, d, pauseOfCapacity, reason, 0)
	return err
}

func (s *Store) countPause(ctx context.Context, d *Deployment, cause, reason string,
	least int) (paused bool, err error) {
	paused, err = s.frame.Queries.CountStartPause(ctx, query.CountStartPauseParams{
		Region: d.Region, App: d.App, Version: d.Version, Cause: cause, Reason: reason, Least: int32(least),
		Now: s.virtualNow(),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil // it is paused already
	}
	return paused, frame.Classify(err)
}

// ForgiveRefusals ends the count of PauseWithoutCapacity. Errors: Unavailable.
func (s *Store) ForgiveRefusals(ctx context.Context, d *Deployment) error {
	return frame.Classify(s.frame.Queries.ForgiveRefusals(ctx,
		query.ForgiveRefusalsParams{Region: d.Region, App: d.App, Version: d.Version}))
}

// Crashes are the servers of an app version in a region that tell whether it crashes again and again.
type Crashes struct {
	CrashedServers int // within an hour, soon after they were ready, and since the last server that survived
	YoungServers   int // that are ready, and may crash yet
}

// CrashesOf returns those of the app version of a deployment. A server that is ready for survives has survived. Errors:
// Unavailable.
func (s *Store) CrashesOf(ctx context.Context, d *Deployment, survives time.Duration) (Crashes, error) {
	r, err := s.frame.Queries.CrashesOfVersion(ctx, query.CrashesOfVersionParams{
		Region: d.Region, App: d.App, Version: d.Version, Crash: ReasonCrashed, TooManyBoots: ReasonTooManyBoots,
		Survives: survives, Now: s.virtualNow(),
	})
	return Crashes{int(r.Crashed), int(r.Young)}, frame.Classify(err)
}
