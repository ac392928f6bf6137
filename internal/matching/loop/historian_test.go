package loop_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/loop"
)

// forgetful is a store that cannot write history for a while.
type forgetful struct {
	*db.Store
	refusals atomic.Int32 // that are left
}

func (s *forgetful) KeepTickets(ctx context.Context, universe string, tickets []db.LeftTicket) (int, error) {
	if s.refusals.Add(-1) >= 0 {
		return 0, &fault.Error{Kind: fault.Unavailable}
	}
	return s.Store.KeepTickets(ctx, universe, tickets)
}

// The history of tickets follows their match: also after an outage, and before a worker that stops has gone.
func TestHistoryFollowsTheCommit(t *testing.T) {
	t.Parallel()
	const kept = "SELECT count(*) FROM ticket_history h JOIN match_history m ON m.id = h.match_id AND m.committed_at = h.left_at"
	b := setup(t)
	b.host("a", 64, "arena")
	b.AddProfile("duel", "mode: arena\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\n")
	s := &forgetful{Store: b.store()}
	s.refusals.Store(2)
	stop := b.worker(func(o *loop.Options) { o.Store = s })
	b.ticket(1, party("ann"), "duel")
	b.ticket(1, party("bob"), "duel")
	b.Eventually(2, kept)

	s.refusals.Store(1)
	b.ticket(1, party("cid"), "duel")
	b.ticket(1, party("dan"), "duel")
	b.Eventually(4, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	stop()
	require.Equal(t, 4, b.Count(kept))
	b.RequireInvariants()
}
