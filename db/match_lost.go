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
		// All matches of the transaction were committed or none, so one ticket suffices.
		first := t.seatedMatches[0]
		return t.committer.lookAfterTx(ctx, first.call.match.Tickets[0].ID, func(ctx context.Context) (bool, error) {
			return t.committer.store.q.TicketAssigned(ctx,
				query.TicketAssignedParams{Universe: t.committer.universe, Ticket: first.call.match.Tickets[0].ID,
					MatchID: first.playingMatchID()})
		})
	case len(t.proposedMatches) > 0:
		first := t.proposedMatches[0]
		return t.committer.lookAfterTx(ctx, first.match.Tickets[0].ID, func(ctx context.Context) (bool, error) {
			return t.committer.store.q.MatchProposed(ctx,
				query.MatchProposedParams{Universe: t.committer.universe, ID: first.match.ID})
		})
	}
	// The transaction has written nothing that a repetition would write twice.
	return false, nil
}

// lookAgainAfter is the pause between two looks for a lost transaction.
const lookAgainAfter = 20 * time.Millisecond

// lookAfterTx waits until the lost transaction, which has locked the ticket, has ended, and then looks for what the
// transaction wrote.
func (c *committer) lookAfterTx(ctx context.Context, ticket string,
	look func(context.Context) (bool, error)) (done bool, err error) {
	// Postgres ends the lost transaction within the hold timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.store.cfg.HoldTimeout+time.Second)
	defer cancel()
	waitAndLook := func() (bool, error) {
		if err := c.store.q.AwaitTicket(ctx, query.AwaitTicketParams{Universe: c.universe, ID: ticket}); err != nil {
			return false, err
		}
		return look(ctx)
	}
	for {
		done, err := waitAndLook()
		if err == nil || ctx.Err() != nil {
			return done, err
		}
		// An error before the timeout is one of the connection: the database may be failing over.
		select {
		case <-time.After(lookAgainAfter):
		case <-ctx.Done():
		}
	}
}
