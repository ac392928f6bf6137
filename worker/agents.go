package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
)

const agentBatch = 1000

// remindEvery is the interval at which game servers whose drain is kept but whose status is not draining are sent the
// command again.
const remindEvery = 20 * time.Second

// agentReaper ends the agents and commands of replicas that have ended. The pruner deletes their rows.
type agentReaper struct {
	store      *db.Store
	remindedAt time.Time // when commands of kept drains were last sent again
}

func (r *agentReaper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	remind := time.Since(r.remindedAt) >= remindEvery
	err := eachRegion(ctx, r.store.AgentRegions, func(region db.ReplicaRegion) error {
		err := r.endReplicas(ctx, region, done)
		if region.HasOnlyReplicas {
			return err
		}
		expireErr := r.expireCommands(ctx, region.Region, done)
		if expireErr != nil || !remind {
			return errors.Join(err, expireErr)
		}
		return errors.Join(err, r.remindDrains(ctx, region.Region, done))
	})
	// After an error, the next run sends to all regions again. A command that was sent twice drains once.
	if remind && err == nil {
		r.remindedAt = time.Now()
	}
	return done, err
}

// endReplicas ends replicas past their lease, and the agents that they do not leave to others any longer.
func (r *agentReaper) endReplicas(ctx context.Context, region db.ReplicaRegion, done Done) error {
	replicas, err := r.store.EndExpiredReplicas(ctx, region.Region)
	done.add("replicas", replicas)
	if err != nil || region.HasOnlyReplicas {
		return err
	}
	// By one, not by a batch: EndAgents returns 0 when nothing is left, and fewer than its bound also in between.
	return done.drain("agents", 1, func() (int, error) {
		return r.store.EndAgents(ctx, region.Region)
	})
}

// expireCommands times out commands whose caller's replica has ended.
func (r *agentReaper) expireCommands(ctx context.Context, region string, done Done) error {
	return done.drain("commands_timed_out", 1, func() (int, error) {
		return r.store.ExpireCommands(ctx, region)
	})
}

// remindDrains sends the commands of kept drains again.
func (r *agentReaper) remindDrains(ctx context.Context, region string, done Done) error {
	return done.drain("drains_sent", agentBatch, func() (int, error) {
		return r.store.RemindKeptDrains(ctx, region, agentBatch)
	})
}
