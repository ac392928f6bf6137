package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// FailVersion counts a failure of an app version that an operator has to repair. The third in a row pauses the version for a minute, each further
// one for twice as long, 30 minutes at most. least is how many there were in a row, as far as the caller knows. It returns whether the version is paused
// now. Errors: Unavailable.
func (s *Store) FailVersion(ctx context.Context, app, version, reason string, least int) (paused bool, err error) {
	paused, err = s.q.FailVersion(ctx, FailVersionParams{App: app, Version: version, Reason: reason, Least: int32(least), Now: s.virtualNow()})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return paused, classify(err)
}

// Crashes are the servers of an app version in a region that tell whether it crashes again and again.
type Crashes struct {
	Crashed int // within an hour, soon after they were ready, and since the last server that survived
	Young   int // that are ready, and may crash yet
}

// CrashesOf returns those of the app version of a deployment. A server that is ready for survives has survived. Errors: Unavailable.
func (s *Store) CrashesOf(ctx context.Context, d *Deployment, survives time.Duration) (Crashes, error) {
	r, err := s.q.CrashesOfVersion(ctx, CrashesOfVersionParams{
		Region: d.Region, App: d.App, Version: d.Version, Crash: ReasonCrashed, TooManyBoots: ReasonTooManyBoots, Survives: survives, Now: s.virtualNow(),
	})
	return Crashes{int(r.Crashed), int(r.Young)}, classify(err)
}

// PausePoolWithoutCapacity makes the pool of a deployment start no further servers for a while: 5 seconds, doubled by each refusal, 5 minutes at
// most. Errors: Unavailable.
func (s *Store) PausePoolWithoutCapacity(ctx context.Context, d *Deployment, reason string) error {
	return classify(s.q.PausePoolWithoutCapacity(ctx, PausePoolWithoutCapacityParams{
		Region: d.Region, App: d.App, Version: d.Version, Reason: reason, Now: s.virtualNow(),
	}))
}

// PoolHasCapacity ends the count of PausePoolWithoutCapacity. Errors: Unavailable.
func (s *Store) PoolHasCapacity(ctx context.Context, d *Deployment) error {
	return classify(s.q.PoolHasCapacity(ctx, PoolHasCapacityParams{Region: d.Region, App: d.App, Version: d.Version}))
}
