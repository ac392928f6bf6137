package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
)

// happened finds out whether the transaction was committed, all of it or nothing.
func (t *matchTx) happened(ctx context.Context) (done bool, err error) {
	switch {
	case len(t.seated) > 0:
		// All matches of the transaction share its fate, so one ticket tells.
		first := t.seated[0]
		return t.foundOut(ctx, first.Tickets[0].ID, func(ctx context.Context) (bool, error) {
			return t.Store.q.TicketAssigned(ctx,
				query.TicketAssignedParams{Universe: t.universe, Ticket: first.Tickets[0].ID, MatchID: first.playing()})
		})
	case len(t.proposed) > 0:
		first := t.proposed[0]
		return t.foundOut(ctx, first.Tickets[0].ID, func(ctx context.Context) (bool, error) {
			return t.Store.q.MatchProposed(ctx, query.MatchProposedParams{Universe: t.universe, ID: first.ID})
		})
	}
	return false, nil // nothing that a repetition could do twice
}

// foundOut waits for the lost transaction, which holds the ticket until it ends, and then looks for what it wrote.
func (c *committer) foundOut(ctx context.Context, ticket string,
	look func(context.Context) (bool, error)) (done bool, err error) {
	// Postgres ends the lost transaction by the hold timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.HoldTimeout+time.Second)
	defer cancel()
	for {
		if err = c.q.AwaitTicket(ctx, query.AwaitTicketParams{Universe: c.universe, ID: ticket}); err == nil {
			done, err = look(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return done, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
