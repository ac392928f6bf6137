package worker

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// queueBatch is the most rows that one transaction of a sweep changes.
const queueBatch = 1000

const (
	// judgeAfter is how long after its deadline the sweeper ends a ready check, so that the profile's owner judges first.
	judgeAfter = 5 * time.Second
	// judgeBatch is the most matches whose ready checks one transaction ends.
	judgeBatch = 100
)

// fullSweepEvery is the interval of the two sweeps that read all players and the whole queue.
const fullSweepEvery = 20 * time.Second

// queueSweeper deletes expired and settled rows of the ticket queue, cancels tickets of retired profiles, records lost
// tickets, ends ready checks that no worker has ended, and forgets old cycles. Little depends on when it runs, since each
// query ignores expired rows itself, except that players learn that a ticket has expired when it is swept.
type queueSweeper struct {
	store       *db.Store
	fullSweptAt time.Time // when the last full sweep began
}

func (s *queueSweeper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	sweeps := map[string]func(context.Context, string, int) (int, error){
		"tickets_expired":             s.store.SweepTickets,
		"tickets_forgotten":           s.store.ForgetSettled,
		"backfills_expired":           s.store.SweepBackfills,
		"tickets_of_retired_profiles": s.store.CancelNewlyRetired,
	}
	if time.Since(s.fullSweptAt) >= fullSweepEvery {
		// Set before the sweeps: the run after a failure does not repeat them, since they read so much.
		s.fullSweptAt = time.Now()
		sweeps["tickets_lost"] = s.store.RecordLostTickets
		// Replaces CancelNewlyRetired, which searches only in the first seconds after a retirement.
		sweeps["tickets_of_retired_profiles"] = s.store.CancelRetired
	}
	return done, eachRegion(ctx, s.store.TicketRegions,
		func(universe string) error { return s.sweepUniverse(ctx, universe, sweeps, done) })
}

func (s *queueSweeper) sweepUniverse(ctx context.Context, universe string,
	sweeps map[string]func(context.Context, string, int) (int, error), done Done) error {
	var steps []func() error
	// A map, in no order: each sweep looks at rows of its own kind.
	for name, sweep := range sweeps {
		steps = append(steps, func() error {
			return done.drain(name, queueBatch, func() (int, error) { return sweep(ctx, universe, queueBatch) })
		})
	}
	return runSteps(ctx, append(steps,
		func() error {
			return drainBacklog(judgeBatch, func() (int, error) {
				// nil owners: the ready checks of all profiles, also of those that no worker owns at the moment.
				judged, err := s.store.JudgeReadyChecks(ctx, universe, nil, judgeAfter, judgeBatch)
				done.add("ready_checks_ended", len(judged.EndedMatches))
				return len(judged.EndedMatches), err
			})
		},
		func() error {
			return done.count("cycles_forgotten", func() (int, error) { return s.store.ForgetCycles(ctx, universe) })
		})...)
}
