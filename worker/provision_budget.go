package worker

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// grants are the calls that a batch may make, by class. Classes without a limit have no entry.
type grants map[provision.CallClass]*grant

type grant struct {
	callsLeft  int
	callRate   float64
	nextFreeAt time.Time // when the next call that has none gets one
}

// takeBudgets takes the calls of a batch from the budgets that all workers share.
func (p *provisioner) takeBudgets(ctx context.Context, name string, can provider.Capabilities,
	ops []operation) (grants, error) {
	rates := map[provision.CallClass]float64{
		provision.CallDeploy: can.Rates.Deploy, provision.CallGet: can.Rates.Get, provision.CallList: can.Rates.List,
		provision.CallStop: can.Rates.Stop,
	}
	wants := map[provision.CallClass]provision.CallBudget{}
	for _, op := range ops {
		// An operation that calls nothing has no class, and no rate.
		if class := op.callClass(); rates[class] > 0 {
			w := wants[class]
			// Less than the provider's limit: people and other tools use the same account.
			wants[class] = provision.CallBudget{WantedCalls: w.WantedCalls + 1, Rate: rates[class] * budgetShare}
		}
	}
	if len(wants) == 0 {
		return grants{}, nil
	}
	granted, err := p.store.TakeBudgets(ctx, name, wants)
	if err != nil {
		return nil, err
	}
	g := grants{}
	for class, w := range wants {
		got := granted[class]
		g[class] = &grant{callsLeft: got.GrantedCount, callRate: w.Rate, nextFreeAt: got.FreeAt}
	}
	return g, nil
}

// takeCall takes a call. If there is none, it returns when the deployment should be due again: each one that waits when
// the budget has refilled for it, so that a backlog does not come back at once.
func (g grants) takeCall(op operation) *time.Time {
	b, limited := g[op.callClass()]
	if !limited {
		return nil
	}
	if b.callsLeft > 0 {
		b.callsLeft--
		return nil
	}
	// From the end of the last one that waits: n waiting deployments are due in n intervals, one after another.
	b.nextFreeAt = b.nextFreeAt.Add(time.Duration(float64(time.Second) / b.callRate))
	free := b.nextFreeAt
	return &free
}
