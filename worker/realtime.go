package worker

import (
	"context"
	"errors"

	"github.com/lattice-director/director/db"
)

// realtimeReaper suspends and ends sessions of the realtime lobby whose clients are gone.
type realtimeReaper struct {
	store *db.Store
}

func (r realtimeReaper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	return done, eachRegion(ctx, r.store.RealtimeRegions, func(listed db.ReplicaRegion) error {
		region := listed.Region
		replicas, err := r.store.EndExpiredRealtimeReplicas(ctx, region)
		done.add("realtime_replicas", replicas)
		if listed.HasOnlyReplicas {
			return err
		}
		// In the order of a session's life: one whose replica ends in this run is suspended in it as well.
		return errors.Join(err,
			r.sweepSessions(ctx, region, done, "suspended", r.store.SuspendUnowned),
			r.sweepSessions(ctx, region, done, "announced", r.store.AnnounceSuspended),
			r.sweepSessions(ctx, region, done, "realtime_sessions", r.store.EndExpiredRealtime))
	})
}

// sweepSessions repeats a step until it finds no more sessions.
func (r realtimeReaper) sweepSessions(ctx context.Context, region string, done Done, what string,
	step func(context.Context, string) (int, error)) error {
	return done.drain(what, 1, func() (int, error) {
		return step(ctx, region)
	})
}
