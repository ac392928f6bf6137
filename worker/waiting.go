package worker

import (
	"context"
	"errors"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

const waitingBatch = 100

// waitingSweeper tells rooms of the realtime lobby what became of the tickets of their members. Sessions of a match
// that the loop made do not depend on it: they are invited in the transaction of the match.
type waitingSweeper struct{ store *db.Store }

func (w waitingSweeper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	return done, eachRegion(ctx, w.store.WaitingRegions, func(region string) error {
		lost := func(ctx context.Context, region string, batch int) (int, error) {
			return w.store.SettleLostTickets(ctx, region, batch, ticketbody.Connection)
		}
		return errors.Join( // a lost ticket may have an outcome for its room
			w.sweep(ctx, region, done, "waiting_ended", lost),
			w.sweep(ctx, region, done, "tickets_paused", w.store.PauseForgottenTickets),
			w.sweep(ctx, region, done, "rooms_told", w.store.TellLobbies),
			w.sweep(ctx, region, done, "match_rooms_ended", w.store.EndMatchRooms),
			w.sweep(ctx, region, done, "waiting_forgotten", w.store.ForgetExpiredWaits))
	})
}

// sweep repeats a step until it finds less than a batch.
func (w waitingSweeper) sweep(ctx context.Context, region string, done Done, what string,
	step func(context.Context, string, int) (int, error)) error {
	return drainBacklog(waitingBatch, func() (int, error) {
		n, err := step(ctx, region, waitingBatch)
		done.add(what, n)
		return n, err
	})
}
