package db

import (
	"context"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// ValveSettings are what an operator sets of a valve. Fields that are nil stay as they are; a new valve needs a Rate.
type ValveSettings struct {
	Rate       *float64 // admissions a second
	MaxPlayers *int32   // admitted at once; 0: any number
	Region     *string  // "": all; cannot be changed later
	Build      *string  // "": all; cannot be changed later
	StaffShare *float64 // of Rate and MaxPlayers, for staff only: 0 to 0.5; the default of a new valve is 0.05
	MaxWaiting *int32   // players that the line holds; the default of a new valve is 200,000
}

// SetValve makes a valve, or changes it, and makes it limit. Errors: Invalid; Conflict where another valve is for the
// same region and build, or there are 64; Unavailable.
func (a Act) SetValve(ctx context.Context, name string, set ValveSettings) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsSetValve, a.valveParams(name, set))
}

func (a Act) valveParams(name string, set ValveSettings) query.OpsSetValveParams {
	return query.OpsSetValveParams{
		Name: name, Rate: set.Rate, MaxPlayers: set.MaxPlayers, Region: set.Region, Build: set.Build,
		StaffShare: set.StaffShare, MaxWaiting: set.MaxWaiting, Reason: a.reason,
	}
}

// LimitValve is [Act.SetValve] for a valve that exists. Errors: Invalid, NotFound, Unavailable.
func (a Act) LimitValve(ctx context.Context, name string, set ValveSettings) (changed bool, err error) {
	return callAct(ctx, a, func(q *query.Queries, ctx context.Context, p query.OpsSetValveParams) (bool, error) {
		// Locked before HasValve: a valve that is deleted meanwhile would be made again, for all regions and builds.
		if err := q.LockValves(ctx); err != nil {
			return false, err
		}
		found, err := q.HasValve(ctx, name)
		switch {
		case err != nil:
			return false, err
		case !found:
			return false, fault.New(fault.NotFound, "not_found", "there is no valve %q", name)
		}
		return q.OpsSetValve(ctx, p)
	}, a.valveParams(name, set))
}

// OpenValve makes a valve admit everybody. Errors: NotFound, Unavailable.
func (a Act) OpenValve(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsOpenValve, query.OpsOpenValveParams{Name: name, Reason: a.reason})
}

// CloseValve makes a valve admit nobody; players keep and get places in the line. Errors: NotFound, Unavailable.
func (a Act) CloseValve(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsCloseValve, query.OpsCloseValveParams{Name: name, Reason: a.reason})
}

// DeleteValve removes a valve with its line. Errors: NotFound, Unavailable.
func (a Act) DeleteValve(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsDeleteValve, query.OpsDeleteValveParams{Name: name, Reason: a.reason})
}

// AdmitPlayer admits a player past the line and the limits. changed is false where the player is admitted already, or
// the valve is open. Errors: Invalid, also without a reason; NotFound; Unavailable.
func (a Act) AdmitPlayer(ctx context.Context, valve, player string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsAdmitPlayer,
		query.OpsAdmitPlayerParams{Valve: valve, Player: player, Reason: a.reason})
}
