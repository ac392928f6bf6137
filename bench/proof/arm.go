package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
)

// arm is measured once a round: a load on one side, or what it has instead.
type arm struct {
	name        string // unique in a round; the report's name of the run
	on          side
	load        *bench.Options // a step may change it before each run; nil: there is a run instead
	run         func(ctx context.Context) (bench.Result, error)
	preparation []step // before each run, and before the database settles
	// beside runs during each run, from the end of the warm-up. Its ctx ends with the run, which is no error. nil: nothing.
	beside step
	// complete adds to each result, which has a map of values; nil: nothing.
	complete func(ctx context.Context, r *bench.Result) error
	isLast   bool // it is measured in the last round only
}

// step is a piece of work around an arm's run.
type step func(ctx context.Context) error

// inTurn makes one step after the other.
func inTurn(ctx context.Context, steps ...step) error {
	for _, do := range steps {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepareEach adds steps before each run of the arms.
func prepareEach(arms []arm, steps ...step) []arm {
	for i, a := range arms {
		arms[i].preparation = slices.Concat(a.preparation, steps)
	}
	return arms
}

// measure makes the steps before the run, lets the database settle, so that no arm pays for the rows of an earlier one,
// and runs.
func (a arm) measure(ctx context.Context) (bench.Result, error) {
	if err := inTurn(ctx, append(a.preparation, a.on.bed.settle)...); err != nil {
		return bench.Result{}, err
	}
	r, err := a.runBeside(ctx)
	if err != nil || a.complete == nil {
		return r, err
	}
	if r.Values == nil {
		r.Values = map[string]float64{}
	}
	return r, a.complete(ctx, &r)
}

// runBeside runs once, with what goes on meanwhile.
func (a arm) runBeside(ctx context.Context) (r bench.Result, err error) {
	during, stop := context.WithCancel(ctx)
	defer stop()
	isMeasuring := make(chan struct{})
	begin := sync.OnceFunc(func() { close(isMeasuring) })
	var other errgroup.Group
	if a.beside != nil {
		other.Go(func() error { <-isMeasuring; return a.beside(during) })
	}
	if a.load != nil {
		load := *a.load
		load.Measuring = begin
		r, err = a.on.generate(ctx, load)
	} else {
		begin()
		r, err = a.run(ctx)
	}
	stop()  // before the wait: the other goes on until then
	begin() // the run may have failed before
	return r, errors.Join(err, other.Wait())
}

// round is the results of all arms in a round, by name.
type round map[string]bench.Result

// rounds are the results of all rounds.
type rounds []round

// measureAll measures all arms in turn, round after round: a machine that becomes slower affects all arms alike.
func measureAll(ctx context.Context, o Options, arms []arm) (all rounds, err error) {
	for n := range o.Rounds {
		this := round{}
		for _, a := range arms {
			if a.isLast && n < o.Rounds-1 { // it leaves behind what other arms cannot start with
				continue
			}
			o.say("round %d of %d: %s", n+1, o.Rounds, a.name)
			if this[a.name], err = a.measure(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", a.name, err)
			}
		}
		all = append(all, this)
	}
	return all, nil
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
		shown.Name = a.name
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
