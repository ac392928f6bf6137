package proof

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/report"
)

// trial is measured once a round.
type trial struct {
	name string // unique in a round; the report's name of the run
	run  func(ctx context.Context) (bench.Result, error)
}

// round is the results of all trials of a round, by name.
type round map[string]bench.Result

// rounds are the results of all rounds.
type rounds []round

// measure makes all trials in turn, round after round: a machine that becomes slower affects all trials alike.
func (o Options) measure(ctx context.Context, trials ...trial) (all rounds, err error) {
	for n := range max(o.Rounds, 1) {
		this := round{}
		for _, t := range trials {
			o.say("round %d of %d: %s", n+1, max(o.Rounds, 1), t.name)
			if this[t.name], err = t.run(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
		}
		all = append(all, this)
	}
	return all, nil
}

// median returns the median over the rounds of a figure. Differences and ratios are computed within a round.
func (all rounds) median(of func(round) float64) float64 {
	values := make([]float64, len(all))
	for i, r := range all {
		values[i] = of(r)
	}
	return median(values)
}

// typical returns, for each of these trials, the run with the median throughput: the report shows it.
func (all rounds) typical(names ...string) (runs []report.Run) {
	for _, name := range names {
		var results []bench.Result
		for _, r := range all {
			results = append(results, r[name])
		}
		if len(results) == 0 {
			continue
		}
		slices.SortStableFunc(results, func(a, b bench.Result) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
		runs = append(runs, report.Run{Name: name, Result: results[(len(results)-1)/2]})
	}
	return runs
}

// sum returns the sum of a figure over these trials in all rounds.
func (all rounds) sum(of func(bench.Result) int64, names ...string) (total int64) {
	for _, r := range all {
		for _, name := range names {
			total += of(r[name])
		}
	}
	return total
}

func calls(r bench.Result) int64  { return r.Calls }
func failed(r bench.Result) int64 { return r.Failed }

// failures makes the finding that no call failed in these trials, with the kinds of failures.
func (all rounds) failures(names ...string) report.Finding {
	return noted(atMost("calls that failed", float64(all.sum(failed, names...)), 0, report.Whole), "%s", all.kinds(names...))
}

// kinds lists the kinds of failures and their counts, over all rounds.
func (all rounds) kinds(names ...string) string {
	times := map[string]int64{}
	for _, r := range all {
		for _, name := range names {
			for kind, n := range r[name].Errors {
				times[kind] += n
			}
		}
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(times)) {
		parts = append(parts, fmt.Sprintf("%s × %s", report.Whole(float64(times[kind])), kind))
	}
	return strings.Join(parts, ", ")
}
