package proof

import (
	"context"
	"maps"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// 256 callers in a closed loop request seats from three replicas, in sessions for eight players. All players would fit
// into the least number of sessions; each further session is a match that is not full, on a server that costs money.
// Sessions are counted in the database; of each shape (region, mode and size) the session that is still being filled is
// not counted.
var packing = Experiment{
	Name: "packing", Title: "Full sessions", Takes: "1 min",
	About: "How full the sessions are that 256 callers fill over three replicas, compared with the naive placement",
	parts: inOneLab(lab.Options{Replicas: replicas}, packingArms), claims: packingClaims,
}

// packingArms have no warm-up: its sessions would be counted.
func packingArms(ctx context.Context, b *testbed) ([]arm, error) {
	naive, err := b.baselines(ctx, lab.Web)
	run := b.options.load(matchmake, choose(b.options, manyCallers, 16))
	run.Load.Players, run.WarmUp = 8, 0
	return []arm{
		b.arm(matchmake, b.director(lab.Web), run).finish(b.countSessions),
		b.arm(naiveMatchmake, naive, run).finish(b.countSessions),
	}, err
}

// countSessions reads the sessions of a run that is over.
func (b *testbed) countSessions(ctx context.Context, r *bench.Result) error {
	values, err := b.valuesOf(ctx, "packing.sql", "bench-"+r.Run+"-")
	maps.Copy(r.Values, values)
	return err
}

func packingClaims(Options) []claim {
	waste := figure{func(r bench.Result) float64 { return r.Values["opened"] / r.Values["fewest"] }, times}
	return []claim{
		{"sessions that are full", median(matchmake, valueOf("full", percent)), atLeast(0.99)},
		{"sessions opened, compared with the fewest possible", median(matchmake, waste), atMost(1.01)},
	}
}
