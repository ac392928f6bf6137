package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

const pruneBatch = 1000

// What operators still see.
const (
	// endedInstanceRetention lets operators see in the morning which instances ended during the night.
	endedInstanceRetention = day
	// evacuationRetention is of the report of an evacuation. Players follow it to their next ticket or seat.
	evacuationRetention = 7 * day
	// erasureRetention is of the fact that somebody was erased; the event of it has the retention of events.
	erasureRetention = 30 * day
)

// pruner deletes rows whose retention is over.
type pruner struct {
	store     *db.Store
	retention time.Duration // of signing keys, dead letters and past instances: that of the events that name them
}

func (p pruner) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	err := done.drain("idempotency_keys", pruneBatch, func() (int, error) {
		return p.store.PruneIdempotencyKeys(ctx, pruneBatch)
	})
	// Without the database all other statements would fail as well.
	if fault.Is(err, fault.Unavailable) {
		return done, err
	}
	return done, errors.Join(err, p.pruneFleetWide(ctx, done),
		eachRegion(ctx, p.store.Regions, func(region string) error { return p.pruneInstances(ctx, region, done) }),
		eachRegion(ctx, p.store.AgentRegions,
			func(region db.ReplicaRegion) error { return p.pruneAgents(ctx, region.Region, done) }),
		eachRegion(ctx, p.store.RealtimeRegions, func(region db.ReplicaRegion) error {
			return done.count("replicas", func() (int, error) {
				return p.store.ForgetRealtimeReplicas(ctx, region.Region)
			})
		}),
		eachRegion(ctx, p.store.DemandRegions, func(region string) error {
			return done.drain("demand", pruneBatch, func() (int, error) {
				return p.store.SweepDemand(ctx, region, pruneBatch)
			})
		}))
}

// pruneFleetWide deletes rows that belong to no region.
func (p pruner) pruneFleetWide(ctx context.Context, done Done) error {
	return errors.Join(
		done.drain("player_latencies", pruneBatch, func() (int, error) {
			return p.store.ForgetLatencies(ctx, pruneBatch)
		}),
		done.drain("evacuated_players", pruneBatch, func() (int, error) {
			return p.store.ForgetEvacuations(ctx, evacuationRetention, pruneBatch)
		}),
		done.drain("past_instances", pruneBatch, func() (int, error) {
			return p.store.PrunePast(ctx, p.retention, pruneBatch)
		}),
		done.count("keys", func() (int, error) { return p.store.PruneKeys(ctx, p.retention) }),
		done.count("processes", func() (int, error) { return p.store.ForgetProcesses(ctx) }),
		done.count("dead_letters", func() (int, error) { return p.store.PruneDeadLetters(ctx, p.retention) }),
		done.count("erasures", func() (int, error) { return p.store.PruneErasures(ctx, erasureRetention) }))
}

// pruneInstances prunes tokens before instances: a region is no longer listed once its last instance is deleted.
func (p pruner) pruneInstances(ctx context.Context, region string, done Done) error {
	err := done.drain("redeemed_tokens", pruneBatch, func() (int, error) {
		return p.store.PruneRedeemedTokens(ctx, region, pruneBatch)
	})
	if err != nil {
		return err
	}
	err = drainBacklog(pruneBatch, func() (int, error) {
		n, err := p.store.PruneNetcodeTokens(ctx, region, pruneBatch)
		done.add("netcode_tokens", n.DeletedRows)
		// Examined, not deleted: rows of connected players are put off by ten minutes, and do not come again in this
		// run.
		return n.ExaminedRows, err
	})
	if err != nil {
		return err
	}
	return done.drain("instances", pruneBatch, func() (int, error) {
		return p.store.ForgetInstances(ctx, region, endedInstanceRetention, pruneBatch)
	})
}

// pruneAgents deletes agents that have left, commands that are settled, and replicas that have ended, minutes after
// the last question about them.
func (p pruner) pruneAgents(ctx context.Context, region string, done Done) error {
	return errors.Join(
		// Until nothing is left: ForgetCommands may also return fewer than its bound in between.
		done.drain("commands", 1, func() (int, error) { return p.store.ForgetCommands(ctx, region) }),
		done.drain("agents", pruneBatch, func() (int, error) { return p.store.ForgetAgents(ctx, region, pruneBatch) }),
		done.count("replicas", func() (int, error) { return p.store.ForgetReplicas(ctx, region) }))
}

const day = 24 * time.Hour
