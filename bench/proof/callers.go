package proof

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/bench/lab"
)

// Calls that wait at the same time are decided in one batch, in one transaction. There is no timer: a batch is the
// calls that arrived while the previous batch was being decided. A lone caller therefore waits for no other calls, and
// more callers make larger batches instead of more transactions. One round: a curve over the callers shows noise
// without repeated rounds.
var callers = Experiment{
	Name: "callers", Title: "Concurrency becomes batch size", Takes: "2 min", isOnce: true,
	About: "Placement by 1 to 1,024 callers at a time, compared with the naive one and the no-op; one round",
	parts: inOneLab(lab.Options{}, callersArms), claims: callersClaims,
}

// callerCounts are how many callers are compared, ascending.
func (o Options) callerCounts() []int { return choose(o, []int{1, 4, 16, 64, 256, 1024}, []int{1, 16}) }

// armBy distinguishes the arms of one series.
func armBy(series string, callers int) string { return fmt.Sprintf("%s by %d", series, callers) }

// callersArms are three arms for each number of callers.
func callersArms(ctx context.Context, b *testbed) (arms []arm, err error) {
	naive, err := b.baselines(ctx, lab.Web)
	for _, n := range b.options.callerCounts() {
		for _, a := range []arm{
			b.arm(noOp, naive, b.options.load("noop", n)),
			b.arm(matchmake, b.director(lab.Web), b.options.load(matchmake, n)),
			b.arm(naiveMatchmake, naive, b.options.load(matchmake, n)),
		} {
			a.name, a.series = armBy(a.name, n), a.name
			arms = append(arms, a)
		}
	}
	return prepareEach(arms, b.settle), err
}

// callersClaims compare the batches of the fewest callers and of the most.
func callersClaims(o Options) []claim {
	counts := o.callerCounts()
	few, many := counts[0], counts[len(counts)-1]
	return []claim{{
		fmt.Sprintf("mean batch size of %s callers, compared with %d", whole(many), few),
		ratio(armBy(matchmake, many), armBy(matchmake, few), batchSize), atLeast(10),
	}}
}
