package worker

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

const queueBatch = 1000

const (
	// judgeAfter is how long after its deadline the sweeper ends a ready check: a profile's owner ends it earlier.
	judgeAfter = 5 * time.Second
	judgeBatch = 100
)

// lostEvery is the interval at which the sweeper compares all players in the queue with the tickets.
const lostEvery = 20 * time.Second

// queueSweeper deletes expired rows of the ticket queue. Little depends on when it runs: each query ignores
// expired rows itself, and players learn that a ticket has expired when it is swept.
type queueSweeper struct {
	store      *db.Store
	comparedAt time.Time // when the players were last compared with the tickets
}

func (s *queueSweeper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	sweeps := map[string]func(context.Context, string, int) (int, error){
		"tickets_expired": s.store.SweepTickets, "tickets_forgotten": s.store.ForgetSettled,
		"backfills_expired":           s.store.SweepBackfills,
		"tickets_of_retired_profiles": s.store.CancelNewlyRetired,
	}
	if time.Since(s.comparedAt) >= lostEvery {
		// Set before the sweep: after a failure this is not repeated at once, since it reads all players.
		s.comparedAt = time.Now()
		sweeps["tickets_lost"], sweeps["tickets_of_retired_profiles"] = s.store.RecordLostTickets, s.store.CancelRetired
	}
	return done, eachRegion(ctx, s.store.TicketRegions,
		func(region string) error { return s.sweepRegion(ctx, region, sweeps, done) })
}

func (s *queueSweeper) sweepRegion(ctx context.Context, region string,
	sweeps map[string]func(context.Context, string, int) (int, error), done Done) error {
	var steps []func() error
	// A map, in no order: each sweep looks at rows of its own kind.
	for name, sweep := range sweeps {
		steps = append(steps, func() error {
			return done.drain(name, queueBatch, func() (int, error) { return sweep(ctx, region, queueBatch) })
		})
	}
	return runSteps(ctx, append(steps,
		func() error {
			return drainBacklog(judgeBatch, func() (int, error) {
				// nil owners: the ready checks of all profiles, also of those that no worker owns at the moment.
				judged, err := s.store.JudgeReadyChecks(ctx, region, nil, judgeAfter, judgeBatch)
				done.add("ready_checks_ended", len(judged.EndedMatches))
				return len(judged.EndedMatches), err
			})
		},
		func() error {
			return done.count("cycles_forgotten", func() (int, error) { return s.store.ForgetCycles(ctx, region) })
		})...)
}
