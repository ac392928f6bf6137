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
//
// Last, players are spread evenly over regions and modes. All modes of a region are decided in one transaction, in turn.
// A call therefore has the same share of a transaction with 16 modes as with one; only more regions make more
// transactions. Only transactions that have written are counted. Then nine calls in ten are for one of 16 modes. A
// player of another mode should not wait longer than when all modes get equal shares.
var reach = Experiment{
	Name: "reach", Title: "Reach", Takes: "5 min", arms: reachArms,
	About: "The cost of calls, placement compared with a naive one, and with how many callers, regions and modes it grows",
	claims: []claim{
		beyondNoOp(matchmake, noOp, 60), beyondNoOp(resolve, noOp, 80), beyondNoOp(heartbeat, fleetNoOp, 30),
		{"matchmake: calls a second, compared with the naive placement", ratio(matchmake, naiveMatchmake, throughput),
			atLeast(3)},
		// Whole calls, the stack that both share included, determine how long players wait and how many machines a
		// title needs.
		{"matchmake: CPU a placement, compared with the naive one", ratio(matchmake, naiveMatchmake, cpuOfSuccess),
			atMost(1.0 / 3)},
		{"a lone caller's p50, compared with the naive placement's", ratio(loneMatchmake, naiveLoneMatchmake, p50),
			atMost(1.3)},
		{"mean batch size of 1,024 callers, compared with one", ratio(crowdedMatchmake, loneMatchmake, batchSize),
			atLeast(10)},
		noFailures(matchmake, resolve, heartbeat, loneMatchmake),
		{"transactions a call with 16 modes in a region, compared with one mode",
			ratio(manyModes, matchmake, transactions), atMost(noise)},
		{"transactions a call with 16 modes in each of 16 regions, compared with one mode in each",
			ratio(manyOfBoth, manyRegions, transactions), atMost(noise)},
		{"transactions a call with 16 regions of 16 modes, compared with one of each",
			ratio(manyOfBoth, matchmake, transactions), atMost(manyPlaces * noise)},
		{"p99 of the other modes while one mode is hot, compared with equal modes",
			reduceRounds(middle, times, func(r round) float64 {
				return stepOf("matchmake, others", p99).read(r[hotMode]) / p99.read(r[manyModes])
			}, hotMode, manyModes), atMost(1.5)},
	},
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
	manyModes          = "matchmake, 16 modes"
	manyRegions        = "matchmake, 16 regions"
	manyOfBoth         = "matchmake, 16 regions of 16 modes"
	hotMode            = "matchmake, 16 modes, a hot one"
)

const (
	manyPlaces = 16  // regions, or modes, where many are compared with one
	noise      = 1.2 // by how much equal figures may differ
)

// reachArms are those that the claims compare, and the commits of Postgres alone.
func reachArms(ctx context.Context, b *testbed) ([]arm, error) {
	naive, err := b.baselines(ctx, lab.Web)
	director := b.director(lab.Web)
	load := func(scenario string) bench.Options { return b.options.load(scenario, manyCallers) }
	heartbeats := load(heartbeat)
	heartbeats.Load.Instances = manyCallers
	spread := func(name string, regions, modes int, hotShare float64) arm {
		run := load(matchmake)
		run.Load.Regions, run.Load.Modes, run.Load.HotShare = regions, modes, hotShare
		return director.arm(name, run)
	}
	return []arm{
		naive.arm(noOp, load("noop")),
		director.arm(matchmake, load(matchmake)),
		naive.arm(naiveMatchmake, load(matchmake)),
		director.arm(resolve, load(resolve)),
		naive.arm(fleetNoOp, load("fleet-noop")),
		director.arm(heartbeat, heartbeats),
		b.inPostgres(commit, "commit", load(matchmake)),
		director.arm(loneMatchmake, b.options.load(matchmake, 1)),
		naive.arm(naiveLoneMatchmake, b.options.load(matchmake, 1)),
		director.arm(crowdedMatchmake, b.options.load(matchmake, 1024)),
		spread(manyModes, 1, manyPlaces, 0), spread(manyRegions, manyPlaces, 1, 0),
		spread(manyOfBoth, manyPlaces, manyPlaces, 0), spread(hotMode, 1, manyPlaces, 0.9),
	}, err
}

// beyondNoOp is the claim about what a call costs in addition to the stack around it, in µs.
func beyondNoOp(arm, nothing string, limit float64) claim {
	return claim{arm + ": CPU a call beyond the no-op", difference(arm, nothing, cpu), atMost(limit)}
}

// cpuOfSuccess is the CPU for each successful call: that of failed calls is wasted.
var cpuOfSuccess = figure{func(r bench.Result) float64 {
	return cpu.read(r) * float64(r.Calls) / float64(r.Calls-r.Failed)
}, micros}
