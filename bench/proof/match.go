package proof

import (
	"context"
	"time"

	"github.com/lattice-director/director/bench"
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
// no-op is the HTTP stack with authentication.
//
// What the decision alone takes is measured by BenchmarkRun of package match/decide, and how soon another worker takes
// over by TestATakeoverIsBounded of test/faults.
var directorLoop = Experiment{
	Name: "match", Title: "The director loop", Takes: "7 min",
	About: "Players queued, matched by a profile and seated, compared with an Open Match director, single-row commits and notifications",
	lab:   lab.Options{Worker: true, Env: []string{lab.KeepTickets}}, arms: loopArms,
	claims: []claim{
		{"10,000 queued: until all are matched and seated, compared with an Open Match director that fetches and " +
			"assigns as many in pairs, without seats", ratio(queueAll, fetchAll, p50), atMost(1.2)},
		{"10,000 matched without a game server: until all are seated, from the registration of game servers on, p50",
			median(seatAll, p50), atMost(2000)},
		// Two players are queued at a time: the life of the later one counts.
		{"created until the assignment is seen: p50", median(duelLife, p50), atMost(10)},
		{"created until the assignment is seen: p99", median(duelLife, p99), atMost(60)},
		// At 500 µs one core takes 2,000 tickets a second.
		{"steady load: CPU a ticket, of replica, worker and Postgres", median(steadyLoad, cpu), atMost(500)},
		{"50,000 waiting whom no rule matches: CPU of the worker", median(idleQueue, shareOfSecond), atMost(0.02)},
		noFailures(queueAll, seatAll, fetchAll, duelLife, steadyLoad),
	},
}

// The arms, by their names in the report.
const (
	queueAll   = "queued, then matched and seated"
	seatAll    = "matched, then seated"
	duelLife   = "ticket life"
	steadyLoad = "steady load"
	idleQueue  = "idle"
	pacedNoOp  = "no-op at the rate of ticket life"
)

func loopArms(ctx context.Context, b *testbed) ([]arm, error) {
	naive, err := b.baselines(ctx, lab.Web)
	director := b.director(lab.Web)
	usualLoad := func(scenario string) bench.Options {
		return b.options.loadUsual(scenario, 8*time.Second)
	}
	noOpLoad := usualLoad("match-life") // no-ops at its rate and with its callers
	noOpLoad.Scenario = scenarioOf("noop")
	idle := usualLoad("match-idle")
	// By then the worker has searched for all seeds, and has forgotten the profiles that were retired.
	idle.WarmUp = 15 * time.Second
	return prepareEach([]arm{
		director.arm(queueAll, usualLoad("match-queue")),
		director.arm(seatAll, usualLoad("match-servers")),
		b.director(lab.GRPC).arm(fetchAll, b.options.loadUsual("fetch", 10*time.Second)),
		director.arm(duelLife, usualLoad("match-life")),
		naive.arm(pacedNoOp, noOpLoad),
		b.inPostgres(notices, "notice", b.options.load("notice", 1)),
		b.inPostgres(commit, "commit", b.options.loadUsual("tickets", 5*time.Second)),
		director.arm(steadyLoad, usualLoad("match-steady")),
		side{b, director.urls, b.lab.Meter(b.lab.Worker)}.arm(idleQueue, idle),
	}, b.await(2*time.Minute, "match_waiting.sql")), err
}

// shareOfSecond is the CPU of a call that lasts a second, in CPUs.
var shareOfSecond = figure{func(r bench.Result) float64 { return serverCPU.read(r) / 1e6 }, percent}
