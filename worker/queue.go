package worker

import (
	"context"
	"errors"

	"github.com/lattice-director/director/db"
)

const queueBatch = 1000

// sweeper deletes expired rows of the ticket queue. Nothing depends on when it runs: each query ignores expired rows itself.
type sweeper struct{ store *db.Store }

func (s sweeper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	return done, eachRegion(ctx, s.store.TicketRegions, func(region string) error { return s.region(ctx, region, done) })
}

func (s sweeper) region(ctx context.Context, region string, done Done) (failed error) {
	for name, sweep := range map[string]func(context.Context, string, int) (int, error){
		"tickets_expired": s.store.SweepTickets, "tickets_forgotten": s.store.ForgetSettled, "backfills_expired": s.store.SweepBackfills,
	} {
		failed = errors.Join(failed, drain(queueBatch, func() (int, error) {
			n, err := sweep(ctx, region, queueBatch)
			done.add(name, n)
			return n, err
		}))
	}
	cycles, err := s.store.ForgetCycles(ctx, region)
	done.add("cycles_forgotten", cycles)
	return errors.Join(failed, err)
}
