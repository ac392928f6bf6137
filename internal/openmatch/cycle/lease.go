package cycle

import (
	"context"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

// keepLease renews the lease, so that a slow step does not lose the cycle. Errors: ctx's; the cycle is lost: another replica
// owns it, or the database was unavailable for as long as the lease.
func (o *owner) keepLease(ctx context.Context) error {
	tick := time.NewTicker(o.round.engine.options.Lease / 4)
	defer tick.Stop()
	renewed := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := o.round.engine.do(ctx, "lease of a cycle", func(ctx context.Context) error { return o.round.engine.options.Store.RenewCycle(ctx, o.round.ref) })
		switch {
		case err == nil:
			renewed = time.Now()
		case !fault.Is(err, fault.Unavailable) || time.Since(renewed) > o.round.engine.options.Lease:
			return err
		}
	}
}
