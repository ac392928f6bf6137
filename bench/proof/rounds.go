package proof

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
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

// figure is a number of a result.
type figure func(bench.Result) float64

func throughput(r bench.Result) float64 { return r.PerSecond }
func p50(r bench.Result) float64        { return r.Latency.P50 }
func p99(r bench.Result) float64        { return r.Latency.P99 }

// cpu is the CPU of director and Postgres per call, in µs; NaN where it cannot be measured.
func cpu(r bench.Result) float64 {
	if r.Costs == nil || r.Costs.ServerMicros == 0 {
		return math.NaN()
	}
	return r.Costs.ServerMicros + r.Costs.PostgresMicros
}

// cost is a cost of a call; 0 where costs are not measured.
func cost(of func(*bench.Costs) float64) figure {
	return func(r bench.Result) float64 {
		if r.Costs == nil {
			return 0
		}
		return of(r.Costs)
	}
}

var (
	transactions   = cost(func(c *bench.Costs) float64 { return c.Transactions })
	postgresMicros = cost(func(c *bench.Costs) float64 { return c.PostgresMicros })
	serverMicros   = cost(func(c *bench.Costs) float64 { return c.ServerMicros })
	loadMicros     = cost(func(c *bench.Costs) float64 { return c.GeneratorMicros })
	// placements decided together
	placed = cost(func(c *bench.Costs) float64 { return c.Groups["placement"].MeanCalls })
)

// requested is the rate that was asked for; NaN of a closed loop.
func requested(r bench.Result) float64 {
	if r.Open == nil {
		return math.NaN()
	}
	return r.Open.Rate
}

// stepOf is a figure of a step instead of the whole turn.
func stepOf(name string, what figure) figure {
	return func(r bench.Result) float64 { return what(bench.Result{Figures: step(r, name)}) }
}

func step(r bench.Result, name string) bench.Figures {
	for _, s := range r.Steps {
		if s.Name == name {
			return s.Figures
		}
	}
	return bench.Figures{}
}

// of returns the median of a figure of a trial.
func (all rounds) of(name string, what figure) float64 {
	return all.median(func(r round) float64 { return what(r[name]) })
}

// compared returns the median of the ratio of two trials.
func (all rounds) compared(one, other string, what figure) float64 {
	return all.median(func(r round) float64 { return what(r[one]) / what(r[other]) })
}

// show writes the median of a figure of a trial.
func (all rounds) show(name string, what figure, in unit) string {
	return measured(all.of(name, what), in)
}

// rate writes the throughput of a trial.
func (all rounds) rate(name string) string { return all.show(name, throughput, perSecond) }

// typical returns, for each of these trials, the run with the median throughput: the report shows it.
func (all rounds) typical(names ...string) (runs []Run) {
	for _, name := range names {
		var results []bench.Result
		for _, r := range all {
			results = append(results, r[name])
		}
		if len(results) == 0 {
			continue
		}
		slices.SortStableFunc(results, func(a, b bench.Result) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
		runs = append(runs, Run{Name: name, Result: results[(len(results)-1)/2]})
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
func (all rounds) failures(names ...string) Finding {
	return noted(atMost("calls that failed", float64(all.sum(failed, names...)), 0, inFull), "%s",
		all.kinds(names...))
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
		parts = append(parts, fmt.Sprintf("%s × %s", inFull(float64(times[kind])), kind))
	}
	return strings.Join(parts, ", ")
}
