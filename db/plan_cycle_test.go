package db

import (
	"context"
	"testing"
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

var cycleStatements = map[string]func(context.Context, *Queries) error{
	"EndDesertedCycle": func(ctx context.Context, q *Queries) error { return q.EndDesertedCycle(ctx, EndDesertedCycleParams{}) },
	"JoinCycle":        func(ctx context.Context, q *Queries) error { return second(q.JoinCycle(ctx, JoinCycleParams{})) },
	"OpenCycle":        func(ctx context.Context, q *Queries) error { return second(q.OpenCycle(ctx, OpenCycleParams{})) },
	"RenewCycle":       func(ctx context.Context, q *Queries) error { return second(q.RenewCycle(ctx, RenewCycleParams{})) },
	"TakeOverCycle": func(ctx context.Context, q *Queries) error {
		return second(q.TakeOverCycle(ctx, TakeOverCycleParams{}))
	},
	"ResignCycle":  func(ctx context.Context, q *Queries) error { return q.ResignCycle(ctx, ResignCycleParams{}) },
	"AdvanceCycle": func(ctx context.Context, q *Queries) error { return second(q.AdvanceCycle(ctx, AdvanceCycleParams{})) },
	"EndCycle":     func(ctx context.Context, q *Queries) error { return second(q.EndCycle(ctx, EndCycleParams{})) },
	"CallersOfCycle": func(ctx context.Context, q *Queries) error {
		return second(q.CallersOfCycle(ctx, CallersOfCycleParams{}))
	},
	"RenewCallers": func(ctx context.Context, q *Queries) error { return q.RenewCallers(ctx, RenewCallersParams{}) },
	"LeaveCycle":   func(ctx context.Context, q *Queries) error { return q.LeaveCycle(ctx, LeaveCycleParams{}) },
	"Propose":      func(ctx context.Context, q *Queries) error { return second(q.Propose(ctx, ProposeParams{})) },
	"ProposalsSince": func(ctx context.Context, q *Queries) error {
		return second(q.ProposalsSince(ctx, ProposalsSinceParams{}))
	},
	"DecidedProposals": func(ctx context.Context, q *Queries) error {
		return second(q.DecidedProposals(ctx, DecidedProposalsParams{}))
	},
	"LockCycle": func(ctx context.Context, q *Queries) error { return second(q.LockCycle(ctx, LockCycleParams{})) },
	"AwaitAcceptance": func(ctx context.Context, q *Queries) error {
		return q.AwaitAcceptance(ctx, AwaitAcceptanceParams{})
	},
	"StoreVerdicts": func(ctx context.Context, q *Queries) error { return q.StoreVerdicts(ctx, StoreVerdictsParams{}) },
	"GetCycle":      func(ctx context.Context, q *Queries) error { return second(q.GetCycle(ctx, GetCycleParams{})) },
}
