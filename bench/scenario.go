package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Scenario is what callers do.
type Scenario struct {
	Name    string
	About   string                 // what a turn is, for people
	Usual   Load                   // where options have none
	IsAlone bool                   // it has one caller, and no rate
	Check   func(o *Options) error // what only this scenario needs; nil: nothing
	Kind    func(error) string     // of a failed call, "" where it knows none; nil: only those of [Failure]
	// Begin makes what a run needs, and returns its turns. Its ctx ends with the load; [Job.OnEnd] is called also after an
	// error.
	Begin func(ctx context.Context, job *Job) (TurnFunc, error)
}

// TurnFunc is a turn of a caller. Calls that it makes with [Caller.Timed] are measured. Its ctx ends with the run's.
type TurnFunc func(ctx context.Context, c *Caller) error

// Turns is a Begin that needs nothing but its turns.
func Turns(turn TurnFunc) func(context.Context, *Job) (TurnFunc, error) {
	return func(context.Context, *Job) (TurnFunc, error) { return turn, nil }
}

// Define completes a scenario: its runs make what their turns share, and then take the steps, in their order.
func Define[L any](s Scenario, newLoad func(ctx context.Context, job *Job) L,
	turn func(L, context.Context, *Caller) error, steps ...func(L, context.Context) error) Scenario {
	s.Begin = func(ctx context.Context, job *Job) (TurnFunc, error) {
		load := newLoad(ctx, job)
		for _, prepare := range steps {
			if err := errors.Join(prepare(load, ctx), ctx.Err()); err != nil {
				return nil, err
			}
		}
		return func(ctx context.Context, c *Caller) error { return turn(load, ctx, c) }, nil
	}
	return s
}

// Find returns the scenario of a name. Without one it returns the zero value.
func Find(scenarios []Scenario, name string) Scenario {
	if i := slices.IndexFunc(scenarios, func(s Scenario) bool { return s.Name == name }); i >= 0 {
		return scenarios[i]
	}
	return Scenario{}
}

// Names of scenarios.
func Names(scenarios []Scenario) (names []string) {
	for _, s := range scenarios {
		names = append(names, s.Name)
	}
	return names
}

// Job is a run in progress, as its scenario sees it.
type Job struct {
	Options Options

	ID     string             // part of the names of what it makes: Options.Run, or random
	Values map[string]float64 // of the result. Set by what OnEnd calls

	besideLoad errgroup.Group
	ends       []func(ctx context.Context) error // in the order of their beginning
}

// Beside lets something go on beside the load, with the ctx of Begin, which ends with the load. Only an error before is
// one of the run.
func (j *Job) Beside(ctx context.Context, run func(ctx context.Context) error) {
	j.besideLoad.Go(func() error {
		if err := run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	})
}

// OnEnd ends what was begun, in reverse order, when the load and all beside it have ended. An error is one of the run.
// The ctx of the end does not end with that of the run.
func (j *Job) OnEnd(end func(ctx context.Context) error) { j.ends = append(j.ends, end) }

// Enter tells that a phase begins.
func (j *Job) Enter(phase string) {
	if j.Options.Say != nil {
		j.Options.Say(phase)
	}
}

// endTimeout bounds each end. Servers, profiles and tickets that are left to themselves expire, or have no players.
const endTimeout = 30 * time.Second

// end ends what was begun, all of it also when something fails to end.
func (j *Job) end(ctx context.Context) error {
	err := j.besideLoad.Wait()
	for _, end := range slices.Backward(j.ends) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		err = errors.Join(err, end(ctx))
		cancel()
	}
	return err
}
