package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
)

const pruneBatch = 1000

// Ended instances stay in sight for a day, for whoever looks in the morning at what ended in the night.
const rememberInstances = day

// pruner forgets what need not be remembered any more.
type pruner struct {
	store     *db.Store
	retention time.Duration // of keys, for the record: as long as of the events that name them
}

func (p pruner) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	failed := drain(pruneBatch, func() (int, error) {
		n, err := p.store.PruneIdempotencyKeys(ctx, pruneBatch)
		done.add("idempotency_keys", n)
		return n, err
	})
	if db.IsKind(failed, db.Unavailable) {
		return done, failed
	}
	keys, err := p.store.PruneKeys(ctx, p.retention)
	done.add("keys", keys)
	failed = errors.Join(failed, err, eachRegion(ctx, p.store.Regions, func(region string) error { return p.region(ctx, region, done) }))
	return done, failed
}

// region forgets tokens first: when the last instance of a region is forgotten, so is the region.
func (p pruner) region(ctx context.Context, region string, done Done) error {
	err := drain(pruneBatch, func() (int, error) {
		n, err := p.store.PruneRedeemedTokens(ctx, region, pruneBatch)
		done.add("redeemed_tokens", n)
		return n, err
	})
	if err != nil {
		return err
	}
	return drain(pruneBatch, func() (int, error) {
		n, err := p.store.ForgetInstances(ctx, region, rememberInstances, pruneBatch)
		done.add("instances", n)
		return n, err
	})
}
