package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
)

// arm is measured once a round.
type arm struct {
	name   string // unique in a round
	series string // the report's name of the run; "": the arm's
	isLast bool   // it is measured in the last round only
	run    runFunc
}

// runFunc measures an arm once.
type runFunc func(ctx context.Context) (bench.Result, error)

// step is work before an arm's run.
type step func(ctx context.Context) error

// prepareEach makes steps before each run of the arms.
func prepareEach(arms []arm, steps ...step) []arm {
	for i, a := range arms {
		arms[i] = a.prepare(steps...)
	}
	return arms
}

// prepare makes steps before each run.
func (a arm) prepare(steps ...step) arm {
	run := a.run
	a.run = func(ctx context.Context) (bench.Result, error) {
		for _, do := range steps {
			if err := do(ctx); err != nil {
				return bench.Result{}, err
			}
		}
		return run(ctx)
	}
	return a
}

// finish completes the result of each run, which has a map of values.
func (a arm) finish(complete func(ctx context.Context, r *bench.Result) error) arm {
	run := a.run
	a.run = func(ctx context.Context) (bench.Result, error) {
		r, err := run(ctx)
		if err != nil {
			return r, err
		}
		if r.Values == nil {
			r.Values = map[string]float64{}
		}
		return r, complete(ctx, &r)
	}
	return a
}

// beside lets something go on during each run. Its ctx ends with the run, which is no error.
func (a arm) beside(other func(ctx context.Context) error) arm {
	run := a.run
	a.run = func(ctx context.Context) (bench.Result, error) {
		during, stop := context.WithCancel(ctx)
		defer stop()
		var others errgroup.Group
		others.Go(func() error { return other(during) })
		r, err := run(ctx)
		stop() // before the wait: the other goes on until then
		return r, errors.Join(err, others.Wait())
	}
	return a
}

// round is the results of all arms in a round, by name.
type round map[string]bench.Result

// rounds are the results of all rounds.
type rounds []round

// measure makes all arms in turn, round after round: a machine that becomes slower affects all arms alike.
func (all rounds) measure(ctx context.Context, o Options, arms []arm) (err error) {
	for n, this := range all {
		for _, a := range arms {
			if a.isLast && n < len(all)-1 { // it leaves behind what other arms cannot start with
				continue
			}
			o.say("round %d of %d: %s", n+1, len(all), a.name)
			if this[a.name], err = a.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
		}
	}
	return nil
}

// typical returns, for each arm, the run with the median throughput: the report shows it.
func (all rounds) typical(arms []arm) (runs []bench.Result) {
	for _, a := range arms {
		var results []bench.Result
		for _, r := range all.having(a.name) {
			results = append(results, r[a.name])
		}
		slices.SortStableFunc(results, func(a, b bench.Result) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
		shown := results[(len(results)-1)/2] // the slower of two middle ones: a run that was, not a mean of two
		shown.Name = cmp.Or(a.series, a.name)
		runs = append(runs, shown)
	}
	return runs
}

// having returns the rounds in which all of these arms were measured.
func (all rounds) having(arms ...string) (some rounds) {
	for _, r := range all {
		isMissing := func(arm string) bool { _, ok := r[arm]; return !ok }
		if !slices.ContainsFunc(arms, isMissing) {
			some = append(some, r)
		}
	}
	return some
}
