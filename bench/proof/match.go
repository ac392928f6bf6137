package proof

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
)

// One replica, a worker as a process of its own, durable Postgres, and the load, all on one machine. A profile
// makes matches of five against five players whose skill differs by at most 100.
//
// First 10,000 players are queued, of which a version of the profile allows no match; the next version matches all of
// them. Then 10,000 players are matched while no game server has room, and game servers register. Both are measured
// until the game servers have the last player. For the life of a ticket, pairs of players arrive at a fixed rate for
// duels, and wait with long polls. For the steady load 20,000 players wait whom no rule matches, and 2,000 others
// arrive each second. An idle worker has 50,000 such.
//
// An Open Match director fetches 10,000 tickets in pairs and assigns each pair to a fixed address: without seats, and
// without game servers. A commit is an update of one row, a notification goes from one connection to another, and the
// no-op is the HTTP stack with authentication. The decision alone runs on one goroutine of the bench.
//
// For the takeovers, the only worker is killed and started again in an installation with 1,000 profiles, beside 200,000
// tickets that no rule matches, and two players of each profile are queued who match. The time runs from the kill: its
// lease of a second has to expire.
var directorLoop = Experiment{
	Name: "match", Title: "The director loop", Takes: "10 min", Run: runMatch,
	About: "Players queued, matched by a profile and seated, compared with an Open Match director, single-row commits and notifications",
}

// The trials of a round, by their names in the report.
const (
	queueAll   = "queued, then matched and seated"
	seatAll    = "matched, then seated"
	duelLife   = "ticket life"
	steadyLoad = "steady load"
	idleQueue  = "idle"
	notices    = "notification"
	pacedNoOp  = "no-op at the rate of ticket life"
)

func runMatch(ctx context.Context, o Options) (Section, error) {
	var all rounds
	setup := lab.Options{Worker: true, Env: []string{lab.KeepTickets}}
	err := o.in(ctx, setup, func(ctx context.Context, b *testbed) error {
		trials, err := b.matchTrials(ctx)
		if err != nil {
			return err
		}
		all, err = o.measure(ctx, append(b.withEmptyQueue(trials...), b.decisions()...)...)
		return err
	})
	if err != nil {
		return Section{}, err
	}
	takeovers, err := o.takeovers(ctx)
	if err != nil {
		return Section{}, err
	}
	lives := all.typical(duelLife, pacedNoOp, notices, commit)
	others := all.typical(append([]string{queueAll, seatAll, fetchAll, steadyLoad, idleQueue}, decisionNames()...)...)
	others = append(others, takeovers.typical(takeoverSpread, takeoverInOne)...)
	return Section{
		Findings: append(all.match(of(o, matchSizes{10_000, 50_000}, matchSizes{100, 100})),
			takeovers.takeoverFindings()...),
		Runs: append(lives, others...),
	}, nil
}

// matchSizes are the numbers of tickets of the queue and of an idle worker.
type matchSizes struct{ queued, idle int }

func (b *testbed) matchTrials(ctx context.Context) ([]trial, error) {
	naive, err := b.naive(ctx)
	if err != nil {
		return nil, err
	}
	director, worker := b.director(), side{b.director().urls, b.Meter(b.Worker())}
	load := func(scenario string, seconds int, quick bench.Load) bench.Options {
		usual := of(b.options, bench.Usual(scenario), quick)
		return bench.Options{
			Scenario: scenario, Callers: usual.Callers, Rate: usual.Rate, Tickets: usual.Tickets,
			Instances: of(b.options, 16, 2),
			WarmUp:    of(b.options, time.Second, 0),
			Duration:  of(b.options, time.Duration(seconds)*time.Second, 300*time.Millisecond),
		}
	}
	idle := load("match-idle", 8, bench.Load{Callers: 1, Tickets: 100})
	// until the worker has searched for all seeds, and no profile was retired lately
	idle.WarmUp = of(b.options, 15*time.Second, 0)
	noOp := load("match-life", 5, bench.Load{Callers: 4, Rate: 20})
	noOp.Scenario = "noop"
	return []trial{
		b.trial(queueAll, director, load("match-queue", 8, bench.Load{Callers: 1, Tickets: 100})),
		b.trial(seatAll, director, load("match-servers", 8, bench.Load{Callers: 1, Tickets: 100})),
		b.openMatch(fetchAll, side{[]string{b.Replicas()[0].GRPC}, b.Lab}, "fetch"),
		b.trial(duelLife, director, load("match-life", 8, bench.Load{Callers: 4, Rate: 20})),
		b.trial(pacedNoOp, naive, noOp),
		{notices, func(ctx context.Context) (bench.Result, error) {
			return baseline.Notices(ctx, b.URL(), 0, of(b.options, 5*time.Second, 100*time.Millisecond))
		}},
		b.openMatchCommits(),
		b.trial(steadyLoad, director, load("match-steady", 8, bench.Load{Callers: 4, Rate: 20, Tickets: 100})),
		b.trial(idleQueue, worker, idle),
	}, nil
}

// emptyTimeout bounds how long the worker takes to cancel the tickets of a profile that a trial has retired.
const emptyTimeout = 2 * time.Minute

// withEmptyQueue waits before each trial until the tickets of the one before have left, and vacuums.
func (b *testbed) withEmptyQueue(trials ...trial) (after []trial) {
	for _, t := range b.settled(trials...) {
		after = append(after, trial{t.name, func(ctx context.Context) (bench.Result, error) {
			if err := b.emptyQueue(ctx); err != nil {
				return bench.Result{}, err
			}
			return t.run(ctx)
		}})
	}
	return after
}

var errQueueStays = errors.New("tickets of retired profiles stay in the queue")

func (b *testbed) emptyQueue(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, emptyTimeout, errQueueStays)
	defer cancel()
	for {
		rows, err := rowsOf[struct{ Waiting int }](ctx, b.pool, "match_waiting.sql")
		if err != nil {
			return err
		}
		if rows[0].Waiting == 0 {
			return nil
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
