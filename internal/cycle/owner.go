package cycle

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// glance is how often an owner looks for news of callers elsewhere, when nobody tells it.
const glance = 50 * time.Millisecond

// owner runs a cycle.
type owner struct {
	*round

	news       <-chan struct{}
	evaluation *evaluation
	queue      []Proposal         // that the evaluator is still to be given
	queued     queued             // that it has accepted
	origins    map[string]*origin // by match id
	taken      map[*call]int      // how many of its proposals are in here

	elsewhere map[uuid.UUID]db.CycleCaller
	seen      map[uuid.UUID]int32 // the last proposal of each
	look      bool                // there may be news of them
	inherited bool                // an owner before has decided about some of ours

	registering, collecting bool      // still
	given                   bool      // the evaluator has everything
	evaluatesUntil          time.Time // once nobody proposes
	finalUntil              time.Time // once the evaluator has ended; zero before
	failure                 error     // of the cycle, for all callers
}

// origin is who proposed a match.
type origin struct {
	Proposal

	call   *call // of this replica, with the index of its proposal
	index  int
	caller uuid.UUID // of another, with the number of its proposal
	seq    int32
}

func newOwner(r *round, c db.Cycle, news <-chan struct{}) *owner {
	return &owner{
		round: r, news: news, origins: map[string]*origin{}, taken: map[*call]int{},
		elsewhere: map[uuid.UUID]db.CycleCaller{}, seen: map[uuid.UUID]int32{},
		registering: c.State == db.CycleRegisters, collecting: c.State != db.CycleEvaluates, evaluatesUntil: time.Now().Add(r.Evaluation),
	}
}

// run runs the cycle to its end. Errors: why it could not, which is not the fault of a caller or the evaluator.
func (o *owner) run(ctx context.Context, takenOver bool) error {
	// An evaluator that ended because we stop would fail the cycle for the callers of all replicas.
	o.evaluation = o.evaluate(context.WithoutCancel(ctx))
	defer o.stopEvaluation()
	result, err := o.loop(ctx, takenOver)
	if err != nil {
		o.metrics.ended("lost", o.began)
		o.resign(ctx)
		return err
	}
	if result == "failed" {
		o.Log.LogAttrs(ctx, slog.LevelWarn, "a cycle failed for all callers", slog.String("cycle", o.ref.ID.String()), slog.Any("error", o.failure))
	}
	o.metrics.ended(result, o.began)
	o.end(ctx)
	return nil
}

// stopEvaluation lets an evaluator that still reads come to an end.
func (o *owner) stopEvaluation() {
	o.evaluation.cancel()
	if !o.given {
		close(o.evaluation.in)
	}
}

// loop does what is due and waits for what comes next.
func (o *owner) loop(ctx context.Context, takenOver bool) (result string, err error) {
	if takenOver {
		if err := o.inherit(ctx); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := clocks{time.NewTicker(glance), time.NewTimer(time.Hour), o.keepLease(ctx)}
	defer c.glance.Stop()
	defer c.deadline.Stop()
	for result == "" && err == nil {
		if result, err = o.step(ctx); result == "" && err == nil {
			err = o.wait(ctx, c)
		}
	}
	return result, err
}

// clocks are what an owner goes by.
type clocks struct {
	glance   *time.Ticker
	deadline *time.Timer
	lost     <-chan error
}

// wait waits until something may be due.
func (o *owner) wait(ctx context.Context, c clocks) error {
	var in chan<- Proposal
	var next Proposal
	if len(o.queue) > 0 {
		in, next = o.evaluation.in, o.queue[0]
	}
	c.deadline.Reset(time.Until(o.nextDeadline()))
	select {
	case in <- next:
		o.queue = o.queue[1:]
	case <-o.woken:
	case <-o.evaluation.progress:
	case <-o.news:
		o.look = true
	case <-c.glance.C:
		o.look = o.look || len(o.elsewhere) > 0
	case err := <-c.lost:
		return err
	case <-c.deadline.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (o *owner) nextDeadline() time.Time {
	switch {
	case o.registering:
		return o.registersUntil
	case o.collecting:
		return o.collectsUntil
	}
	return o.evaluatesUntil
}

// step does all that is due. It gives a result when the cycle is over.
func (o *owner) step(ctx context.Context) (result string, err error) {
	o.partAll()
	o.collect()
	for _, due := range []func(context.Context) error{o.closeRegistration, o.listen, o.closeCollection} {
		if err := due(ctx); err != nil {
			return "", err
		}
	}
	o.feed()
	ended, fault := o.evaluation.state() // before what it accepted is taken: once it has ended, that is all
	if o.failure == nil {
		o.failure = fault
	}
	more, err := o.accept(ctx)
	if err != nil {
		return "", err
	}
	result = o.result(ended)
	if more && (result == "" || !o.outOfTime(ctx)) {
		ring(o.evaluation.progress) // the next batch comes after what else is due
		return "", nil
	}
	return result, nil
}

// result is how the cycle ends; empty while it does not.
func (o *owner) result(ended bool) string {
	switch {
	case o.failure != nil:
		return "failed"
	case o.registering:
		return ""
	case ended && !o.collecting:
		return "ok"
	case o.isDeserted():
		return "deserted"
	}
	return ""
}

// partAll lets calls go that have ended by themselves: no acceptance is under way, and those to come leave them out.
func (o *owner) partAll() {
	for _, c := range o.ours() {
		if c.isOver() {
			c.part()
		}
	}
}

// feed gives the evaluator what it takes at once.
func (o *owner) feed() {
	for len(o.queue) > 0 {
		select {
		case o.evaluation.in <- o.queue[0]:
			o.queue = o.queue[1:]
		default:
			return
		}
	}
	if !o.collecting && !o.given {
		o.given = true
		close(o.evaluation.in)
	}
}

// isDeserted tells whether nobody waits for matches any more.
func (o *owner) isDeserted() bool {
	for _, c := range o.elsewhere {
		if c.Alive {
			return false
		}
	}
	return len(o.live()) == 0
}

// keepLease says that we live until ctx ends, whatever the loop is busy with, and tells when the cycle is ours no more.
// While the database cannot be reached, that is for the lease to judge.
func (o *owner) keepLease(ctx context.Context) <-chan error {
	lost := make(chan error, 1)
	o.running.Go(func() {
		tick := time.NewTicker(o.Lease / 4)
		defer tick.Stop()
		renewed := time.Now()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			err := o.Guard.Do("lease of a cycle", func() error { return o.renew(ctx) })
			if err == nil {
				renewed = time.Now()
			} else if !db.IsKind(err, db.Unavailable) || time.Since(renewed) > o.Lease {
				lost <- err
				return
			}
		}
	})
	return lost
}

func (o *owner) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return o.Store.RenewCycle(ctx, o.ref)
}

// end lets the next cycle begin and then ends the calls.
func (o *owner) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	var text string
	if o.failure != nil {
		text = o.failure.Error()
	}
	if err := o.Store.EndCycle(ctx, o.ref, text); err != nil && !db.IsKind(err, db.Superseded) {
		o.Log.LogAttrs(ctx, slog.LevelWarn, "the end of a cycle could not be told", slog.Any("error", err))
	}
	o.endAll(o.failure)
	o.tidy(ctx)
}

// tidying is how often a replica forgets old cycles.
const tidying = 10 * time.Second

// tidy forgets old cycles, now and then.
func (o *owner) tidy(ctx context.Context) {
	now := time.Now().UnixNano()
	if last := o.tidied.Load(); now-last < int64(tidying) || !o.tidied.CompareAndSwap(last, now) {
		return
	}
	if _, err := o.Store.ForgetCycles(ctx, o.Region); err != nil {
		o.Log.LogAttrs(ctx, slog.LevelDebug, "old cycles stay for now", slog.Any("error", err))
	}
}

// resign lets another replica go on. Our callers are in it no more.
func (o *owner) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	var ids []uuid.UUID
	for _, c := range o.ours() {
		ids = append(ids, c.id)
	}
	err := errors.Join(o.Store.LeaveCycle(ctx, o.ref, ids), o.Store.ResignCycle(ctx, o.ref))
	if err != nil {
		o.Log.LogAttrs(ctx, slog.LevelDebug, "a cycle is left to itself", slog.Any("error", err))
	}
}
