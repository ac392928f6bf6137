package proof

import (
	"context"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// One replica, durable Postgres, and the load, on one machine. In each round all arms take turns, each a closed loop of
// 256 callers, of one or of 1,024, after Postgres has vacuumed the rows of the arm before.
//
// The no-op is the same HTTP stack with JSON and authentication, without the database. The cost of a call beyond it is
// the CPU of the director and of Postgres together, less that of the no-op. The naive placement has the same stack and
// the same tables: each call has a transaction of its own, with SKIP LOCKED.
//
// Calls that wait at the same time are decided in one batch, in one transaction. There is no timer: a batch is the
// calls that arrived while the previous batch was being decided. A lone caller therefore waits for no other calls, and
// more callers make larger batches instead of more transactions.
var reach = Experiment{
	Name: "reach", Title: "Reach", Takes: "3 min", arms: reachArms, claims: reachClaims,
	About: "The cost of calls beyond the no-op, placement compared with a naive one, and how concurrency becomes batch size",
}

// The arms, by their names in the report.
const (
	noOp               = "no-op"
	matchmake          = "matchmake"
	naiveMatchmake     = "naive matchmake"
	resolve            = "resolve"
	fleetNoOp          = "fleet no-op"
	heartbeat          = "heartbeat"
	loneMatchmake      = "matchmake, alone"
	naiveLoneMatchmake = "naive matchmake, alone"
	crowdedMatchmake   = "matchmake, 1,024 callers"
)

// reachArms are those that the claims compare, and the commits of Postgres alone.
func reachArms(ctx context.Context, b *testbed) ([]arm, error) {
	naive, err := b.baselines(ctx, lab.Web)
	director, many := b.director(lab.Web), choose(b.options, manyCallers, 8)
	load := func(scenario string) bench.Options { return b.options.load(scenario, many) }
	heartbeats := load(heartbeat)
	heartbeats.Load.Instances = many
	return []arm{
		naive.arm(noOp, load("noop")),
		director.arm(matchmake, load(matchmake)),
		naive.arm(naiveMatchmake, load(matchmake)),
		director.arm(resolve, load(resolve)),
		naive.arm(fleetNoOp, load("fleet-noop")),
		director.arm(heartbeat, heartbeats),
		b.commits(load(matchmake)),
		director.arm(loneMatchmake, b.options.load(matchmake, 1)),
		naive.arm(naiveLoneMatchmake, b.options.load(matchmake, 1)),
		director.arm(crowdedMatchmake, b.options.load(matchmake, choose(b.options, 1024, 16))),
	}, err
}

func reachClaims(Options) []claim {
	return []claim{
		beyondNoOp(matchmake, noOp, 60), beyondNoOp(resolve, noOp, 80), beyondNoOp(heartbeat, fleetNoOp, 30),
		{"matchmake: calls a second, compared with the naive placement", ratio(matchmake, naiveMatchmake, throughput),
			atLeast(3)},
		// whole calls, the stack that both share included, determine how long players wait and how many machines a
		// title needs
		{"matchmake: CPU a placement, compared with the naive one", ratio(matchmake, naiveMatchmake, cpuOfSuccess),
			atMost(1.0 / 3)},
		{"a lone caller's p50, compared with the naive placement's", ratio(loneMatchmake, naiveLoneMatchmake, p50),
			atMost(1.3)},
		{"mean batch size of 1,024 callers, compared with one", ratio(crowdedMatchmake, loneMatchmake, batchSize),
			atLeast(10)},
		noFailures(matchmake, resolve, heartbeat, loneMatchmake),
	}
}

// beyondNoOp is the claim about what a call costs in addition to the stack around it, in µs.
func beyondNoOp(arm, nothing string, limit float64) claim {
	return claim{arm + ": CPU a call beyond the no-op", difference(arm, nothing, cpu), atMost(limit)}
}

// cpuOfSuccess is the CPU for each successful call: that of failed calls is wasted.
var cpuOfSuccess = figure{func(r bench.Result) float64 {
	return cpu.read(r) * float64(r.Calls) / float64(r.Calls-r.Failed)
}, micros}
