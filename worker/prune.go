package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

const pruneBatch = 1000

// endedInstanceRetention is how long ended instances stay visible in the ops views: operators see in the morning which
// instances ended during the night.
const endedInstanceRetention = day

// evacuationRetention is how long the report of an evacuation is kept. Players follow it to their next ticket or seat.
const evacuationRetention = 7 * day

// pruner deletes rows whose retention is over.
type pruner struct {
	store     *db.Store
	retention time.Duration // of signing keys and dead letters: equal to that of the events that name them
}

func (p pruner) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	failed := drainBacklog(pruneBatch, func() (int, error) {
		n, err := p.store.PruneIdempotencyKeys(ctx, pruneBatch)
		done.add("idempotency_keys", n)
		return n, err
	})
	// Without the database all other statements would fail as well.
	if fault.Is(failed, fault.Unavailable) {
		return done, failed
	}
	forgotten := drainBacklog(pruneBatch, func() (int, error) {
		n, err := p.store.ForgetLatencies(ctx, pruneBatch)
		done.add("player_latencies", n)
		return n, err
	})
	evacuated := drainBacklog(pruneBatch, func() (int, error) {
		n, err := p.store.ForgetEvacuations(ctx, evacuationRetention, pruneBatch)
		done.add("evacuated_players", n)
		return n, err
	})
	past := drainBacklog(pruneBatch, func() (int, error) {
		n, err := p.store.PrunePast(ctx, p.retention, pruneBatch)
		done.add("past_instances", n)
		return n, err
	})
	keys, err := p.store.PruneKeys(ctx, p.retention)
	done.add("keys", keys)
	processes, forgetting := p.store.ForgetProcesses(ctx)
	done.add("processes", processes)
	letters, dropping := p.store.PruneDeadLetters(ctx, p.retention)
	done.add("dead_letters", letters)
	failed = errors.Join(failed, forgotten, evacuated, past, err, forgetting, dropping,
		eachRegion(ctx, p.store.Regions, func(region string) error { return p.pruneRegion(ctx, region, done) }))
	return done, failed
}

// pruneRegion prunes tokens before instances: a region is no longer listed once its last instance is deleted.
func (p pruner) pruneRegion(ctx context.Context, region string, done Done) error {
	err := drainBacklog(pruneBatch, func() (int, error) {
		n, err := p.store.PruneRedeemedTokens(ctx, region, pruneBatch)
		done.add("redeemed_tokens", n)
		return n, err
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
	return drainBacklog(pruneBatch, func() (int, error) {
		n, err := p.store.ForgetInstances(ctx, region, endedInstanceRetention, pruneBatch)
		done.add("instances", n)
		return n, err
	})
}

const day = 24 * time.Hour
