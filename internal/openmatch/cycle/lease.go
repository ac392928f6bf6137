package cycle

import (
	"context"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/tenure"
)

// keepLease renews the lease, so that a slow step does not lose the cycle. Errors: ctx's; the cycle is lost: another
// replica owns it, or the database was unavailable for as long as the lease.
func (o *owner) keepLease(ctx context.Context) error {
	shared := o.round.resources
	return tenure.Lease{
		Every: shared.options.Lease / 4, Lasts: shared.options.Lease,
		Renew: func(ctx context.Context) error {
			return shared.doInStep(ctx, "lease of a cycle",
				func(ctx context.Context) error { return shared.options.Store.RenewCycle(ctx, o.round.cycleRef) })
		},
		IsLost: func(err error) bool { return !fault.Is(err, fault.Unavailable) },
	}.Hold(ctx)
}
