package cycle

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

// runCycle runs the cycle to its end. Errors: the cycle could not be run, by no fault of a caller or the evaluator.
func (o *owner) runCycle(ctx context.Context) error {
	// The evaluator does not end with ctx: if it were canceled because this replica stops, the cycle would fail for the
	// callers of all replicas.
	o.evaluation = o.round.startEvaluation(context.WithoutCancel(ctx))
	defer o.evaluation.cancelEvaluator()
	leased, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.round.resources.goroutines.Go(func() { cancel(o.keepLease(leased)) })
	if err := o.round.playRole(leased, o); err != nil {
		o.round.resources.metrics.countEnded("lost", o.round.beganAt)
		return err
	}
	o.round.resources.metrics.countEnded(o.cycleResult, o.round.beganAt)
	o.endCycle(ctx)
	return nil
}

// idleTime implements [role].
func (o *owner) idleTime() time.Duration {
	until := o.evaluatesUntil
	switch o.phase {
	case db.CycleRegistering:
		until = o.round.registersUntil
	case db.CycleCollecting:
		until = o.round.collectsUntil
	}
	if len(o.remoteCallers) > 0 {
		return min(time.Until(until), time.Until(o.round.nextReadAt))
	}
	return time.Until(until)
}

// runStep implements [role].
func (o *owner) runStep(ctx context.Context) (over bool, err error) {
	for _, c := range o.round.overCalls() {
		c.end(nil) // no commit is under way between two steps, and later ones leave out the matches of the call
	}
	o.collectLocal()
	if err := o.readRemote(ctx); err != nil {
		return false, err
	}
	if err := o.closePhase(ctx); err != nil {
		return false, err
	}
	// The state is read before commitBatch: once the evaluator has ended, no acceptance follows, and left counts all.
	evaluated, failure := o.evaluation.currentState()
	left, err := o.commitBatch(ctx)
	if err != nil {
		return false, err
	}
	o.round.failure = failure
	o.cycleResult = o.resultOf(evaluated)
	if left == 0 {
		return o.cycleResult != "", nil
	}
	// Options.Acceptance begins with the result. Every batch before it is committed.
	if o.cycleResult != "" && o.commitsUntil.IsZero() {
		o.commitsUntil = time.Now().Add(o.round.resources.options.Acceptance)
	}
	if o.cycleResult == "" || time.Now().Before(o.commitsUntil) {
		wait.Wake(o.round.changed) // to commit the next batch after the other steps that are due
		return false, nil
	}
	o.noteDropped(ctx, left)
	return true, nil
}

// closePhase moves the cycle to its next phase when this one is over. In the last phase, it completes the evaluator's
// input, and ends an evaluator whose time is over.
func (o *owner) closePhase(ctx context.Context) error {
	now := time.Now()
	switch o.phase {
	case db.CycleRegistering:
		if now.Before(o.round.registersUntil) {
			return nil
		}
		err := o.advancePhase(ctx, db.CycleCollecting)
		// A call that joined before the row changed may not be in the round yet.
		o.round.resources.awaitJoining()
		return err
	case db.CycleCollecting:
		if evaluated, _ := o.evaluation.currentState(); !evaluated && o.mayPropose() &&
			now.Before(o.round.collectsUntil) {
			return nil
		}
		o.round.cancelFunctions()
		o.collectLocal()
		o.evaluatesUntil = now.Add(o.round.resources.options.Evaluation)
		return o.advancePhase(ctx, db.CycleEvaluating)
	}
	o.evaluation.completeInput()
	if !now.Before(o.evaluatesUntil) {
		o.evaluation.end(errSlow)
	}
	return nil
}

// advancePhase moves the cycle to a phase, and reads all callers and proposals from before. It leaves the row unchanged
// when no other replica reads it.
func (o *owner) advancePhase(ctx context.Context, phase string) error {
	o.phase = phase
	wait.Wake(o.round.changed) // the new phase may be over, too
	if o.hasNoRemote {
		return nil
	}
	changes, err := o.round.resources.options.Store.AdvanceCycle(ctx, o.round.cycleRef, phase, o.lastProposal)
	if err != nil {
		return err
	}
	o.addChanges(changes)
	o.hasNoRemote = len(o.remoteCallers) == 0
	return nil
}

// resultOf returns how the cycle ends, as cycleResult; empty while it does not.
func (o *owner) resultOf(evaluated bool) string {
	switch {
	case o.round.failure != nil:
		return "failed"
	// Callers may still join a cycle that all callers have left.
	case o.phase == db.CycleRegistering:
		return ""
	case evaluated && o.phase == db.CycleEvaluating:
		return "ok"
	case o.isDeserted():
		return "deserted"
	}
	return ""
}

// endCycle ends the cycle's row, so that the next cycle may begin.
func (o *owner) endCycle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	var text string
	if o.round.failure != nil {
		text = o.round.failure.Error()
		o.round.resources.options.Log.LogAttrs(ctx, slog.LevelWarn, "a cycle failed for all callers",
			slog.String("cycle", o.round.cycleRef.ID.String()), slog.Any("error", o.round.failure))
	}
	// Superseded means that another replica owns the cycle by now, and ends it.
	if err := o.round.resources.options.Store.EndCycle(ctx, o.round.cycleRef, text); err != nil &&
		!fault.Is(err, fault.Superseded) {
		o.round.resources.options.Log.LogAttrs(ctx, slog.LevelWarn,
			"the end of a cycle could not be written: the next one waits for the lease", slog.Any("error", err))
	}
}
