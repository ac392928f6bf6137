package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// Rows that one transaction of the reaper ends. An ended instance closes all its sessions, so that few instances are
// many rows. The batches are small enough that calls which wait for one of these rows wait for milliseconds.
const (
	reapInstances = 32
	reapSeats     = 256
)

// reaper ends instances whose lease has expired and frees seats whose deadline has passed.
type reaper struct{ store *db.Store }

func (r reaper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	return done, eachRegion(ctx, r.store.Regions, func(region string) error {
		// Instances first: their sessions close with them, and need no look at their seats.
		if err := r.endInstances(ctx, region, done); err != nil {
			return err
		}
		return r.freeSeats(ctx, region, done)
	})
}

func (r reaper) endInstances(ctx context.Context, region string, done Done) error {
	return drainBacklog(reapInstances, func() (int, error) {
		ended, sessions, err := r.store.ReapInstances(ctx, region, reapInstances)
		done.add("instances", ended)
		done.add("sessions", sessions)
		return ended, err
	})
}

func (r reaper) freeSeats(ctx context.Context, region string, done Done) error {
	return drainBacklog(reapSeats, func() (int, error) {
		reaped, err := r.store.ReapSeats(ctx, region, reapSeats)
		done.add("seats", reaped.Freed)
		done.add("sessions", reaped.ClosedSessions)
		// Seats that were looked at, also those that were kept: there may be more of them.
		return reaped.ExaminedSeats, err
	})
}
