package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
)

// wasCommitted finds out whether the transaction was committed, all of it or nothing.
func (t *matchTx) wasCommitted(ctx context.Context) (done bool, err error) {
	switch {
	case len(t.seatedMatches) > 0:
		// All matches of the transaction share its fate, so one ticket tells.
		first := t.seatedMatches[0]
		return t.committer.foundOut(ctx, first.call.match.Tickets[0].ID, func(ctx context.Context) (bool, error) {
			return t.committer.store.q.TicketAssigned(ctx,
				query.TicketAssignedParams{Universe: t.committer.universe, Ticket: first.call.match.Tickets[0].ID,
					MatchID: first.playing()})
		})
	case len(t.proposedMatches) > 0:
		first := t.proposedMatches[0]
		return t.committer.foundOut(ctx, first.match.Tickets[0].ID, func(ctx context.Context) (bool, error) {
			return t.committer.store.q.MatchProposed(ctx,
				query.MatchProposedParams{Universe: t.committer.universe, ID: first.match.ID})
		})
	}
	return false, nil // nothing that a repetition could do twice
}

// foundOut waits for the lost transaction, which holds the ticket until it ends, and then looks for what it wrote.
func (c *committer) foundOut(ctx context.Context, ticket string,
	look func(context.Context) (bool, error)) (done bool, err error) {
	// Postgres ends the lost transaction by the hold timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.store.cfg.HoldTimeout+time.Second)
	defer cancel()
	for {
		if err = c.store.q.AwaitTicket(ctx, query.AwaitTicketParams{Universe: c.universe, ID: ticket}); err == nil {
			done, err = look(ctx)
		}
		// Any other error is of a connection: the database may be failing over.
		if err == nil || ctx.Err() != nil {
			return done, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
