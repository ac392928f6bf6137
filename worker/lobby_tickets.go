package worker

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

const lobbyTicketBatch = 100

// lobbyTicketNotifier is the loop "waiting": it notifies rooms of the realtime lobby of the outcomes of their members'
// tickets. Sessions of a match that the director loop made do not depend on it: they are invited in the transaction of
// the match.
type lobbyTicketNotifier struct{ store *db.Store }

func (n lobbyTicketNotifier) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	return done, eachRegion(ctx, n.store.WaitingRegions, func(region string) error {
		lost := func(ctx context.Context, region string, batch int) (int, error) {
			return n.store.SettleLostTickets(ctx, region, batch, ticketbody.Connection)
		}
		// In this order: a lost ticket may have an outcome, of which its room is notified below.
		return runSteps(ctx,
			n.sweep(ctx, region, done, "waiting_ended", lost),
			n.sweep(ctx, region, done, "tickets_paused", n.store.PauseForgottenTickets),
			n.sweep(ctx, region, done, "outcomes_delivered", n.store.DeliverTicketOutcomes),
			n.sweep(ctx, region, done, "match_rooms_ended", n.store.EndMatchRooms),
			n.sweep(ctx, region, done, "waiting_forgotten", n.store.ForgetExpiredWaits))
	})
}

// sweep returns a function that repeats a step until it finds less than a batch.
func (n lobbyTicketNotifier) sweep(ctx context.Context, region string, done Done, what string,
	step func(context.Context, string, int) (int, error)) func() error {
	return func() error {
		return done.drain(what, lobbyTicketBatch, func() (int, error) {
			return step(ctx, region, lobbyTicketBatch)
		})
	}
}
