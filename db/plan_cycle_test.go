package db

import (
	"context"
	"testing"

	"github.com/lattice-director/director/db/query"
)

// manyCycles is the ended cycles of half a minute in each of 50 regions, and a running one.
const manyCycles = `
INSERT INTO match_cycles (region, id, owner, lease_until, state, registers_until, collects_until, ended_at)
	SELECT 'r' || r, md5(r || ' ' || n)::uuid, md5('owner')::uuid, now() + interval '1 minute', CASE n WHEN 1 THEN 'collecting' ELSE 'ended' END, now(), now() + interval '20 seconds',
	       CASE WHEN n > 1 THEN now() END
	FROM generate_series(1, 50) r, generate_series(1, 120) n;
INSERT INTO match_callers (region, cycle, id, replica)
	SELECT c.region, c.id, md5(c.id || ' ' || n)::uuid, md5('replica' || n % 3)::uuid FROM match_cycles c, generate_series(1, 5) n;
INSERT INTO match_proposals (region, cycle, caller, seq, match_id, tickets)
	SELECT k.region, k.cycle, k.id, n, 'm', 't' FROM match_callers k, generate_series(1, 5) n;
ANALYZE;`

// Plans that were cached while there were no cycles must also be good when there are many.
func TestCyclePlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{"none": "ANALYZE", "many": manyCycles} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readWhatTheyTake(t, storeWith(t, state).pool, cycleStatements)
		})
	}
}

var cycleStatements = map[string]func(context.Context, *query.Queries) error{
	"EndDesertedCycle": func(ctx context.Context, q *query.Queries) error {
		return q.EndDesertedCycle(ctx, query.EndDesertedCycleParams{})
	},
	"JoinCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.JoinCycle(ctx, query.JoinCycleParams{}))
	},
	"OpenCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.OpenCycle(ctx, query.OpenCycleParams{}))
	},
	"RenewCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.RenewCycle(ctx, query.RenewCycleParams{}))
	},
	"TakeOverCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.TakeOverCycle(ctx, query.TakeOverCycleParams{}))
	},
	"ResignCycle": func(ctx context.Context, q *query.Queries) error {
		return q.ResignCycle(ctx, query.ResignCycleParams{})
	},
	"AdvanceCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.AdvanceCycle(ctx, query.AdvanceCycleParams{}))
	},
	"EndCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.EndCycle(ctx, query.EndCycleParams{}))
	},
	"CallersOfCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.CallersOfCycle(ctx, query.CallersOfCycleParams{}))
	},
	"RenewCallers": func(ctx context.Context, q *query.Queries) error {
		return q.RenewCallers(ctx, query.RenewCallersParams{})
	},
	"LeaveCycle": func(ctx context.Context, q *query.Queries) error { return q.LeaveCycle(ctx, query.LeaveCycleParams{}) },
	"Propose": func(ctx context.Context, q *query.Queries) error {
		return second(q.Propose(ctx, query.ProposeParams{}))
	},
	"ProposalsSince": func(ctx context.Context, q *query.Queries) error {
		return second(q.ProposalsSince(ctx, query.ProposalsSinceParams{}))
	},
	"DecidedProposals": func(ctx context.Context, q *query.Queries) error {
		return second(q.DecidedProposals(ctx, query.DecidedProposalsParams{}))
	},
	"LockCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.LockCycle(ctx, query.LockCycleParams{}))
	},
	"AwaitAcceptance": func(ctx context.Context, q *query.Queries) error {
		return q.AwaitAcceptance(ctx, query.AwaitAcceptanceParams{})
	},
	"StoreVerdicts": func(ctx context.Context, q *query.Queries) error {
		return q.StoreVerdicts(ctx, query.StoreVerdictsParams{})
	},
	"GetCycle": func(ctx context.Context, q *query.Queries) error {
		return second(q.GetCycle(ctx, query.GetCycleParams{}))
	},
}
