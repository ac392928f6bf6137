package proof

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Calls that wait at the same time are decided in one batch, in one transaction. There is no timer: a batch is the
// calls that arrived while the previous batch was being decided. A lone caller therefore waits for no other calls, and
// more callers make larger batches instead of more transactions.
var callers = Experiment{
	Name: "callers", Title: "Concurrency becomes batch size", Takes: "2 min", Run: runCallers,
	About: "Placement by 1 to 1,024 callers at a time, compared with the naive one and the no-op; one round",
}

func runCallers(ctx context.Context, o Options) (Section, error) {
	o.Rounds = 1 // a curve over the callers shows noise without repeated rounds
	return inOneLab(lab.Options{}, (*testbed).sweep, rounds.callersSection)(ctx, o)
}

// callerCounts are how many callers are compared, ascending.
func (o Options) callerCounts() []int { return of(o, []int{1, 4, 16, 64, 256, 1024}, []int{1, 16}) }

func (all rounds) callersSection(o Options) Section {
	counts := o.callerCounts()
	runs := all.swept(counts)
	return Section{
		Findings: []Finding{all.grouping(counts[0], counts[len(counts)-1])},
		Runs:     runs,
	}
}

var swept = []string{noOp, matchmake, naiveMatchmake}

// by distinguishes the trials of one name.
func by(name string, callers int) string { return fmt.Sprintf("%s by %d", name, callers) }

func (b *testbed) sweep(ctx context.Context) (trials []trial, err error) {
	naive, err := b.naive(ctx)
	if err != nil {
		return nil, err
	}
	load := bench.Options{
		Instances: of(b.options, 16, 2),
		WarmUp:    of(b.options, time.Second, 50*time.Millisecond),
		Duration:  of(b.options, 3*time.Second, 200*time.Millisecond),
	}
	for _, load.Callers = range b.options.callerCounts() {
		for _, name := range swept {
			load.Scenario = matchmake
			on := naive
			switch name {
			case noOp:
				load.Scenario = "noop"
			case matchmake:
				on = b.director()
			}
			trials = append(trials, b.trial(by(name, load.Callers), on, load))
		}
	}
	return b.settled(trials...), nil
}

// swept returns the runs without the number of callers in their names, since a run has that.
func (all rounds) swept(counts []int) (runs []Run) {
	for _, n := range counts {
		for _, name := range swept {
			run := all.typical(by(name, n))[0]
			run.Name = strings.TrimSuffix(run.Name, by("", n))
			runs = append(runs, run)
		}
	}
	return runs
}

func (all rounds) grouping(few, many int) Finding {
	f := atLeast(fmt.Sprintf("mean batch size of %s callers, compared with %d", inFull(float64(many)), few),
		all.compared(by(matchmake, many), by(matchmake, few), placed), 10, times)
	return noted(f, "on average %.1f, and %.2f of a lone caller", all.of(by(matchmake, many), placed),
		all.of(by(matchmake, few), placed))
}
