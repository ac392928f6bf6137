package cycle

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// remoteInterval is how often an owner reads the rows of other replicas' calls when no notification arrives.
const remoteInterval = 50 * time.Millisecond

// owner runs a cycle. One goroutine uses it.
type owner struct {
	*round

	notified  <-chan struct{} // notifications about cycles of the region
	takenOver bool            // another replica owned the cycle before
	phase     string          // the state of the cycle's row
	failure   error           // of the cycle, for all callers

	taken         map[*call]int // how many of its proposals are candidates
	remote        map[uuid.UUID]*remoteCall
	remoteChanged bool                  // rows of remote calls may have changed
	candidates    map[string]*candidate // by match id

	evaluation     *evaluation
	evaluatesUntil time.Time // once nobody proposes
	accepted       queue     // matches to commit
	commitsUntil   time.Time // once the evaluator has ended; zero before
}

func newOwner(r *round, c db.Cycle, notified <-chan struct{}) *owner {
	return &owner{
		round: r, notified: notified, phase: c.State, taken: map[*call]int{}, remote: map[uuid.UUID]*remoteCall{},
		candidates: map[string]*candidate{}, evaluatesUntil: time.Now().Add(r.Evaluation),
	}
}

// run runs the cycle to its end. Errors: the cycle could not be run, by no fault of a caller or the evaluator.
func (o *owner) run(ctx context.Context) error {
	// Not ctx: an evaluator that is canceled because this replica stops would fail the cycle for the callers of all replicas.
	o.evaluation = o.evaluate(context.WithoutCancel(ctx))
	defer o.evaluation.stop()
	result, err := o.loop(ctx)
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

// loop takes steps until the cycle has a result.
func (o *owner) loop(ctx context.Context) (result string, err error) {
	if o.takenOver {
		if err := o.resume(ctx); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := timers{time.NewTicker(remoteInterval), time.NewTimer(time.Hour), o.keepLease(ctx)}
	defer t.remote.Stop()
	defer t.deadline.Stop()
	for {
		if result, err = o.step(ctx); result != "" || err != nil {
			return result, err
		}
		if err := o.wait(ctx, t); err != nil {
			return "", err
		}
	}
}

type timers struct {
	remote    *time.Ticker
	deadline  *time.Timer
	leaseLost <-chan error
}

// wait waits until the next step may be due.
func (o *owner) wait(ctx context.Context, t timers) error {
	in, next := o.evaluation.next()
	t.deadline.Reset(time.Until(o.deadline()))
	select {
	case in <- next:
		o.evaluation.queue = o.evaluation.queue[1:]
	case <-o.changed:
	case <-o.evaluation.changed:
	case <-o.notified:
		o.remoteChanged = true
	case <-t.remote.C:
		o.remoteChanged = o.remoteChanged || len(o.remote) > 0
	case err := <-t.leaseLost:
		return err
	case <-t.deadline.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// deadline returns when the phase ends at the latest.
func (o *owner) deadline() time.Time {
	switch o.phase {
	case db.CycleRegistering:
		return o.registersUntil
	case db.CycleCollecting:
		return o.collectsUntil
	}
	return o.evaluatesUntil
}

// step does all that is due, and returns a result when the cycle is over.
func (o *owner) step(ctx context.Context) (result string, err error) {
	o.releaseFailing()
	o.collect()
	for _, due := range []func(context.Context) error{o.closeRegistration, o.readRemote, o.closeCollection} {
		if err := due(ctx); err != nil {
			return "", err
		}
	}
	o.evaluation.feed()
	if o.phase == db.CycleEvaluating && len(o.evaluation.queue) == 0 {
		o.evaluation.closeInput()
	}
	ended, fault := o.evaluation.state() // before commitBatch: once the evaluator has ended, no acceptance follows
	if o.failure == nil {
		o.failure = fault
	}
	more, err := o.commitBatch(ctx)
	if err != nil {
		return "", err
	}
	result = o.result(ended)
	if more && (result == "" || !o.outOfTime(ctx)) {
		wake(o.evaluation.changed) // to commit the next batch after the other steps that are due
		return "", nil
	}
	return result, nil
}

// result returns how the cycle ends; empty while it does not.
func (o *owner) result(evaluated bool) string {
	switch {
	case o.failure != nil:
		return "failed"
	case o.phase == db.CycleRegistering:
		return ""
	case evaluated && o.phase == db.CycleEvaluating:
		return "ok"
	case o.isDeserted():
		return "deserted"
	}
	return ""
}

// releaseFailing releases the calls that have failed by themselves: no commit is under way between two steps, and later
// ones leave their matches out.
func (o *owner) releaseFailing() {
	for _, c := range o.local() {
		c.release()
	}
}

// closeRegistration ends the phase in which callers join, when its time is over.
func (o *owner) closeRegistration(ctx context.Context) error {
	if o.phase != db.CycleRegistering || time.Now().Before(o.registersUntil) {
		return nil
	}
	if err := o.advance(ctx, db.CycleCollecting); err != nil {
		return err
	}
	o.awaitJoining()
	o.collect()
	return nil
}

// closeCollection ends the phase in which callers propose, when all have proposed or its time is over; and fails the cycle
// when the evaluator runs for too long after that.
func (o *owner) closeCollection(ctx context.Context) error {
	evaluated, _ := o.evaluation.state()
	if evaluated {
		o.evaluation.queue = nil
	}
	now := time.Now()
	switch o.phase {
	case db.CycleCollecting:
		if evaluated || o.allComplete() || !now.Before(o.collectsUntil) {
			o.cancelFunctions()
			o.collect()
			return o.evaluateAll(ctx, now)
		}
	case db.CycleEvaluating:
		if !evaluated && !now.Before(o.evaluatesUntil) {
			o.failure = errSlow
		}
	}
	return nil
}

// evaluateAll begins the last phase. It leaves the row unchanged when no other replica has callers in the cycle, since nobody reads
// it then.
func (o *owner) evaluateAll(ctx context.Context, now time.Time) error {
	o.evaluatesUntil = now.Add(o.Evaluation)
	if len(o.remote) > 0 {
		return o.advance(ctx, db.CycleEvaluating)
	}
	o.phase = db.CycleEvaluating
	return nil
}
