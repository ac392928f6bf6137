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
// a row pauses the version there for a minute, each further one for twice as long, 30 minutes at most. atLeast is how
// many failures in a row the caller knows of, this one included: the count is raised to it. It returns whether this
// failure has paused the version. Errors: Unavailable.
func (s *Store) FailVersion(ctx context.Context, d *Deployment, reason string, atLeast int) (paused bool, err error) {
	return s.countForPause(ctx, d, pauseOfFailures, reason, atLeast)
}

// PauseWithoutCapacity makes the pool of a deployment start no further servers for a while: 5 seconds, doubled by each
// refusal, 5 minutes at most. Errors: Unavailable.
func (s *Store) PauseWithoutCapacity(ctx context.Context, d *Deployment, reason string) error {
	_, err := s.countForPause(ctx, d, pauseOfCapacity, reason, 0)
	return err
}

// countForPause counts an event that may begin a pause. It returns whether this one has.
func (s *Store) countForPause(ctx context.Context, d *Deployment, cause, reason string,
	atLeast int) (paused bool, err error) {
	paused, err = s.frame.Queries.CountStartPause(ctx, query.CountStartPauseParams{
		Region: d.Region, App: d.App, Version: d.Version, Cause: cause, Reason: reason, Least: int32(atLeast),
		Now: s.virtualNow(),
	})
	// The version is paused already: nothing is counted meanwhile.
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return paused, frame.Classify(err)
}

// ForgiveRefusals ends the count of PauseWithoutCapacity. Errors: Unavailable.
func (s *Store) ForgiveRefusals(ctx context.Context, d *Deployment) error {
	return frame.Classify(s.frame.Queries.ForgiveRefusals(ctx,
		query.ForgiveRefusalsParams{Region: d.Region, App: d.App, Version: d.Version}))
}

// Crashes counts the servers of an app version in a region that show whether it crashes again and again.
type Crashes struct {
	CrashedServers int // crashed within the last hour, soon after they were ready, and since the last one that survived
	YoungServers   int // are ready, and have not survived yet
}

// CrashesOf returns the crashes of the app version of a deployment. A server has survived once it has been ready for
// survivesAfter. Errors: Unavailable.
func (s *Store) CrashesOf(ctx context.Context, d *Deployment, survivesAfter time.Duration) (Crashes, error) {
	r, err := s.frame.Queries.CrashesOfVersion(ctx, query.CrashesOfVersionParams{
		Region: d.Region, App: d.App, Version: d.Version, Crash: ReasonCrashed, TooManyBoots: ReasonTooManyBoots,
		Survives: survivesAfter, Now: s.virtualNow(),
	})
	return Crashes{int(r.Crashed), int(r.Young)}, frame.Classify(err)
}
