package loop_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

// unreadable is a store that cannot read tickets by their ids at one call.
type unreadable struct {
	*db.Store
	readings  atomic.Int32
	failingAt int32
}

func (s *unreadable) Candidates(ctx context.Context, universe string, ids []string) ([]db.Candidate, error) {
	if s.readings.Add(1) == s.failingAt {
		return nil, &fault.Error{Kind: fault.Unavailable}
	}
	return s.Store.Candidates(ctx, universe, ids)
}

// Pins a call of a function whose accepted tickets could not be read: they were neither in a match nor candidates until
// their marks expired.
func TestTicketsOfACallThatFailsAreFree(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t)
	f.host("host-1", 100, "arena")
	f.ticket(1000, party("ada"), "duel")
	f.ticket(1000, party("bo"), "duel")
	f.functionProfile("duel", functionstest.ServeMMF(t, f.propose(pairs)), "")
	// The first reading judges the proposals, the second one follows their acceptance.
	f.worker(f.calls(), func(o *loop.Options) { o.Store = &unreadable{Store: o.Store.(*db.Store), failingAt: 2} })
	f.Eventually(2, assigned)
	f.RequireInvariants()
}
