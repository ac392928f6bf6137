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

// trial is what is measured once a round.
type trial struct {
	name string // unique among those of a round; the report's name for the run
	run  func(ctx context.Context) (bench.Result, error)
}

// round is a run of each trial, by name.
type round map[string]bench.Result

// rounds are what all trials measured.
type rounds []round

// measure makes all trials in turn, round after round: a machine that gets slower meanwhile does so for all of them.
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

// median of what each round gives. Differences and ratios are taken within a round.
func (all rounds) median(of func(round) float64) float64 {
	values := make([]float64, len(all))
	for i, r := range all {
		values[i] = of(r)
	}
	return median(values)
}

// typical are, of each of these trials, the run with the median throughput: what is shown of them.
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

// sum adds up what each of these trials gives, in all rounds.
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

// failures judges that there were none in these trials, and tells which there were.
func (all rounds) failures(names ...string) report.Finding {
	return noted(atMost("calls that failed", float64(all.sum(failed, names...)), 0, report.Whole), "%s", all.kinds(names...))
}

// kinds of failures and how often they came, in all rounds.
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
