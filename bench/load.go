package bench

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// prepare registers the game servers.
func (r *run) prepare(ctx context.Context) error {
	if r.scenario.fleetless {
		return ctx.Err()
	}
	r.enter("registering game servers")
	return r.fleet.register(ctx, r.Instances)
}

// prepareData makes the players' access tokens and, for resolve, reserves seats.
func (r *run) prepareData(ctx context.Context) error {
	turns := r.turnsAhead()
	r.enter("making access tokens")
	if err := r.players.prepare(ctx, int(r.players.next.Load())+int(float64(turns)*r.scenario.players)); err != nil {
		return err
	}
	if r.Scenario == resolve {
		r.enter("reserving seats")
		r.reserveAhead(ctx, turns)
	}
	runtime.GC() // collects the garbage of preparing before the measurement
	return ctx.Err()
}

// Preparation is bounded; further tokens and seats are made when they are needed.
const (
	maxPrepared = 250_000
	// perCaller and perCore are calls a second that a closed loop hardly exceeds.
	perCaller, perCore = 2_000, 8_000
)

// turnsAhead is the number of turns to prepare for.
func (r *run) turnsAhead() int {
	rate := r.Rate
	if rate == 0 {
		rate = float64(min(r.Callers*perCaller, runtime.GOMAXPROCS(0)*perCore)) / float64(r.scenario.calls)
	}
	turns := math.Ceil(rate*(r.WarmUp+r.Duration).Seconds()) + float64(r.Callers)
	if r.Turns > 0 {
		turns = min(turns, float64(r.Turns))
	}
	return int(min(turns, maxPrepared))
}

// reserveTimeout is a quarter of the minute for which a director keeps a reserved seat; the rest is left to the run.
const reserveTimeout = 15 * time.Second

// reserveAhead reserves seats for the callers. It ignores errors: they occur again in the run.
func (r *run) reserveAhead(ctx context.Context, seats int) {
	ctx, cancel := context.WithTimeout(ctx, reserveTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(8) // a party is 64 seats
	for _, c := range r.callers {
		group.Go(func() (err error) {
			for err == nil && ctx.Err() == nil && len(c.reserved) < seats/r.Callers {
				err = c.reserve()
			}
			return nil
		})
	}
	_ = group.Wait()
}

// measure generates the load and returns the result.
func (r *run) measure(ctx context.Context) (Result, error) {
	if err := r.prepareData(ctx); err != nil {
		return Result{}, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	spent := newCostMeter(r, fail)
	if err := spent.rest(ctx); err != nil {
		return Result{}, err
	}
	if r.WarmUp == 0 {
		spent.begin(ctx) // before there is any load
	}
	now := time.Now()
	at := period{now.Add(r.WarmUp), now.Add(r.WarmUp + r.Duration)}
	if r.WarmUp > 0 {
		defer time.AfterFunc(r.WarmUp, func() { spent.begin(ctx) }).Stop()
	}
	took := r.load(ctx, now, at)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	costs, err := spent.end(ctx)
	return r.result(at, took, costs), err
}

// load runs all callers until the period is over, and returns how long the measured part took.
func (r *run) load(ctx context.Context, now time.Time, at period) time.Duration {
	if r.Rate > 0 {
		r.schedule = newSchedule(now, r.Rate)
	}
	r.period.Store(&at)
	r.enter("warming up")
	defer time.AfterFunc(r.WarmUp, func() {
		r.enter("measuring")
		if r.Measuring != nil {
			r.Measuring()
		}
	}).Stop()
	var callers sync.WaitGroup
	for _, c := range r.callers {
		callers.Go(func() { c.loop(ctx, at) })
	}
	callers.Wait()
	return time.Since(at.from)
}
