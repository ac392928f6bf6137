package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Run begins the scenario, generates the load, and ends what the scenario has begun. It returns when all calls have been
// answered. Calls that fail are part of the result. Errors: an invalid option, a scenario that cannot begin or end, a
// meter that cannot be read, or the end of ctx, which ends all calls at once.
func Run(ctx context.Context, o Options) (result Result, err error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	// A run without a name gets a random one: game servers of a run that was killed serve their region until their
	// leases end.
	job := &Job{Options: o, ID: cmp.Or(o.Run, strings.ToLower(rand.Text()[:10])), Values: map[string]float64{}}
	loading, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		err = errors.Join(err, job.end(ctx))
		result.Values = job.Values
	}()
	turn, err := o.Scenario.Begin(loading, job)
	if err != nil {
		return Result{}, err
	}
	runtime.GC() // collects the garbage of preparing before the measurement
	return (&run{job: job, turn: turn, begin: time.Now(), record: newRecord()}).measure(loading)
}

// measure generates the load and returns the result.
func (r *run) measure(ctx context.Context) (Result, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	background, err := r.measureBackground(ctx)
	if err != nil {
		return Result{}, err
	}
	o, before := r.job.Options, usage{}
	if o.WarmUp == 0 { // before there is any load
		if before, err = r.measureUsage(ctx); err != nil {
			return Result{}, err
		}
	}
	now := time.Now()
	during := period{now.Add(o.WarmUp), now.Add(o.WarmUp + o.Duration)}
	if o.Load.Rate > 0 {
		r.schedule = newSchedule(now, o.Load.Rate)
	}
	r.job.Enter("warming up")
	var callers sync.WaitGroup
	for n := range o.Load.Callers {
		callers.Go(func() { r.newCaller(n).loop(ctx, during) })
	}
	if Pause(ctx, time.Until(during.from)) == nil { // the callers go on when the warm-up ends
		r.job.Enter("measuring")
		if o.Measuring != nil {
			o.Measuring()
		}
		if o.WarmUp > 0 {
			if before, err = r.measureUsage(ctx); err != nil {
				fail(err)
			}
		}
	}
	callers.Wait()
	took := time.Since(during.from)
	if ctx.Err() != nil { // callers end without an error of their own; the cause may be the meter's
		return Result{}, context.Cause(ctx)
	}
	after, err := r.measureUsage(ctx)
	return r.result(during, took, after.minus(before).costs(background)), err
}

// result is what the callers have measured. It is called once they have ended.
func (r *run) result(during period, took time.Duration, costs *Costs) Result {
	o := r.job.Options
	res := Result{
		Scenario: o.Scenario.Name, Run: r.job.ID, Replicas: len(o.URLs), Load: o.Load, WarmUp: o.WarmUp.Seconds(),
		Seconds: took.Seconds(), Figures: r.record.turns.figures(took), Steps: r.record.figures(took),
		Timeline: r.record.timeline,
	}
	if o.Meter != nil {
		res.Costs = costs
	}
	if r.schedule != nil {
		res.Open = r.schedule.figures(during)
	}
	return res
}
