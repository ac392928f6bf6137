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

// result is what the callers have measured. It is called once they have ended.
func (r *run) result(during period, took time.Duration, costs *Costs) Result {
	o := r.job.Options
	res := Result{
		Scenario: o.Scenario.Name, Run: r.job.ID, Replicas: len(o.URLs), Load: o.Load, WarmUp: o.WarmUp.Seconds(),
		Seconds: took.Seconds(), Figures: r.record.turns.figures(took), Steps: r.record.figures(took),
		Timeline: r.record.timeline, Costs: costs,
	}
	if r.schedule != nil {
		res.Open = r.schedule.figures(during)
	}
	return res
}

// Run begins the scenario, generates the load, and ends what the scenario has begun. It returns when all calls have been
// answered. Calls that fail are part of the result. Errors: an invalid option, a scenario that cannot begin or end, a
// meter that cannot be read, or the end of ctx, which ends all calls at once.
func Run(ctx context.Context, o Options) (result Result, err error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	// random: game servers of a run that was killed serve their region until their leases end
	job := &Job{Options: o, ID: cmp.Or(o.Run, strings.ToLower(rand.Text()[:10])), values: map[string]float64{}}
	defer func() {
		err = errors.Join(err, job.end())
		if len(job.values) > 0 {
			result.Values = job.values
		}
	}()
	turn, err := o.Scenario.Begin(ctx, job)
	if err != nil {
		return Result{}, err
	}
	runtime.GC() // collects the garbage of preparing before the measurement
	return (&run{job: job, turn: turn, record: newRecord()}).measure(ctx)
}

// measure generates the load and returns the result.
func (r *run) measure(ctx context.Context) (Result, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	o, costs := r.job.Options, newCostMeter(r.job, r.record, fail)
	if err := costs.rest(ctx); err != nil {
		return Result{}, err
	}
	if o.WarmUp == 0 {
		costs.begin(ctx) // before there is any load
	}
	now := time.Now()
	during := period{now.Add(o.WarmUp), now.Add(o.WarmUp + o.Duration)}
	r.job.Enter("warming up")
	// a timer: the callers go on when the warm-up ends
	defer time.AfterFunc(o.WarmUp, func() {
		r.job.Enter("measuring")
		if o.Measuring != nil {
			o.Measuring()
		}
		if o.WarmUp > 0 {
			costs.begin(ctx)
		}
	}).Stop()
	if o.Load.Rate > 0 {
		r.schedule = newSchedule(now, o.Load.Rate)
	}
	var callers sync.WaitGroup
	for n := range o.Load.Callers {
		callers.Go(func() { r.newCaller(n).loop(ctx, during) })
	}
	callers.Wait()
	took := time.Since(during.from)
	if ctx.Err() != nil { // callers end without an error of their own; the cause may be the meter's
		return Result{}, context.Cause(ctx)
	}
	used, err := costs.end(ctx)
	return r.result(during, took, used), err
}
