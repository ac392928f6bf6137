package proof

import (
	"context"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// First, four game servers have seats for exactly as many sessions as are requested. 32 callers request them from three
// replicas, each as soon as it has its answer. Each session is for one player, so that every call needs a new one. A
// placement that skips rows locked by other transactions mistakes a busy fleet for a full one. This is the best-known
// defect of allocators that use SKIP LOCKED.
//
// Then 256 callers in a closed loop request seats in sessions for eight players. All players would fit into the least
// number of sessions; each further session is a match that is not full, on a server that costs money. Sessions are
// counted in the database; of each shape (region, mode and size) the session that is still being filled is not counted.
var packing = Experiment{
	Name: "packing", Title: "No false “no capacity”, and full sessions", Takes: "2 min",
	About: "Whether calls to three replicas are refused while there are free seats, and how full sessions become",
	lab:   lab.Options{Replicas: 3}, arms: packingArms,
	// The claims are about the product: what the naive placement refuses is in the report.
	claims: []claim{
		{"calls answered “no capacity” while there were free seats", refusedShare, atMost(0)},
		{"calls that failed for another reason", explained(otherwiseFailed, rush), atMost(0)},
		{"sessions that are full", medianValue(matchmake, "full", percent), atLeast(0.99)},
		{"sessions opened, compared with the fewest possible", median(matchmake, waste), atMost(1.01)},
	},
}

// The arms of the first part, by their names in the report.
const (
	rush      = "matchmake, as many as there are seats"
	naiveRush = "naive matchmake, as many as there are seats"
)

// packingArms have no warm-up: its sessions would be counted.
func packingArms(ctx context.Context, b *testbed) ([]arm, error) {
	const hosts, rushers, sessions = 4, 32, 1024
	director := b.director(lab.Web)
	naive, err := b.baselines(ctx, lab.Web)
	seats := bench.Options{
		Scenario: scenarioOf(matchmake), Duration: time.Minute, // however long it takes
		Load: bench.Load{Callers: rushers, Instances: hosts, Capacity: sessions / hosts, Players: 1, Turns: sessions},
	}
	packed := b.options.load(matchmake, manyCallers)
	packed.Load.Players, packed.WarmUp = 8, 0
	counted := func(a arm) arm {
		a.complete = b.countSessions
		return a
	}
	return []arm{
		director.arm(rush, seats), naive.arm(naiveRush, seats),
		counted(director.arm(matchmake, packed)), counted(naive.arm(naiveMatchmake, packed)),
	}, err
}

// countSessions reads the sessions of a run that is over.
func (b *testbed) countSessions(ctx context.Context, r *bench.Result) error {
	return b.addValues("packing.sql", "bench-"+r.Run+"-")(ctx, r)
}

// refusedShare is about calls of all rounds: a median would hide a single one.
var refusedShare = measure{unit: percent, take: func(all rounds) float64 {
	return total(refused, rush).take(all) / total(calls, rush).take(all)
}}

var (
	// refused counts the calls that were answered "no capacity".
	refused = figure{func(r bench.Result) float64 { return float64(r.Errors["409 no_capacity"]) }, inFull}

	otherwiseFailed = figure{func(r bench.Result) float64 { return failed.read(r) - refused.read(r) }, inFull}
	waste           = figure{func(r bench.Result) float64 { return r.Values["opened"] / r.Values["fewest"] }, times}
)
