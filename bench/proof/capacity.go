package proof

import (
	"context"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Four game servers have seats for exactly as many sessions as are requested. 32 callers request them from three
// replicas, each as soon as it has its answer. Each session is for one player, so that every call needs a new one.
//
// A placement that skips rows locked by other transactions mistakes a busy fleet for a full one. This is the best-known
// defect of allocators that use SKIP LOCKED.
var capacity = Experiment{
	Name: "capacity", Title: "No false “no capacity”", Takes: "20 s",
	About: "Whether calls are refused while there are free seats",
	parts: inOneLab(lab.Options{Replicas: replicas}, capacityArms), claims: capacityClaims,
}

// replicas is the number of replicas that place into the same sessions, where concurrency matters.
const replicas = 3

// capacityArms make as many calls as there are seats, however long that takes.
func capacityArms(ctx context.Context, b *testbed) ([]arm, error) {
	const hosts, rushers = 4, 32
	naive, err := b.baselines(ctx, lab.Web)
	sessions := choose(b.options, 1024, 64)
	load := bench.Options{
		Scenario: scenarioOf(matchmake), Duration: time.Minute,
		Load: bench.Load{Callers: rushers, Instances: hosts, Capacity: sessions / hosts, Players: 1, Turns: sessions},
	}
	return []arm{b.arm(matchmake, b.director(lab.Web), load), b.arm(naiveMatchmake, naive, load)}, err
}

// refused is calls that were answered "no capacity".
var refused = figure{func(r bench.Result) float64 { return float64(r.Errors["409 no_capacity"]) }, inFull}

// capacityClaims are about the product: what the naive placement refuses is in the report.
func capacityClaims(Options) []claim {
	share := measure{unit: percent, take: func(all rounds) float64 {
		return total(refused, matchmake).take(all) / total(calls, matchmake).take(all)
	}}
	others := figure{func(r bench.Result) float64 { return failed.read(r) - refused.read(r) }, inFull}
	return []claim{
		{"calls answered “no capacity” while there were free seats", share, atMost(0)},
		{"calls that failed for another reason", explained(others, matchmake), atMost(0)},
	}
}
