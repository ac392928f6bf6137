package bench

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Caller takes one turn after the other, and waits for each answer.
type Caller struct {
	Number int        // from 0 on
	URL    string     // of its replica
	Random *rand.Rand // the same in each run

	run        *run
	ctx        context.Context // of the run
	isMeasured bool            // the current turn counts
	dueTime    time.Time       // of the next call of this turn; zero in a closed loop and after the turn's first call
	spentTime  time.Duration   // in the calls of this turn
}

// run is a load in progress.
type run struct {
	job      *Job
	turn     TurnFunc
	begin    time.Time
	record   *record
	schedule *schedule    // nil in a closed loop
	turns    atomic.Int64 // that began, when Turns limits them
}

// newCaller makes the nth caller. Its number is its seed, so that runs draw the same places.
func (r *run) newCaller(n int) *Caller {
	urls := r.job.Options.URLs
	return &Caller{run: r, Number: n, URL: urls[n%len(urls)], Random: rand.New(rand.NewPCG(uint64(n), 0))}
}

// loop takes turns until the period is over. It finishes the turn that it has begun, so that slow answers are measured.
func (c *Caller) loop(ctx context.Context, during period) {
	c.ctx = ctx
	for c.begin(during) {
		err := c.run.turn(ctx, c)
		if ctx.Err() != nil {
			return // the error may come from the cancelled context
		}
		// Turns of the warm-up count as well: the meter is read during turns, and its costs are divided by the turns in between.
		c.run.record.answered.Add(1)
		if c.isMeasured {
			c.run.record.endTurn(c.spentTime, c.run.kindOf(err), time.Since(during.from))
		}
		if err != nil && c.run.schedule == nil && c.run.job.Options.Load.Turns == 0 {
			_ = Pause(ctx, failurePause)
		}
	}
}

// failurePause keeps callers from repeating calls that fail at once as fast as the machine can.
const failurePause = 10 * time.Millisecond

// begin waits for the next turn, and returns false when there is none.
func (c *Caller) begin(during period) bool {
	c.spentTime, c.dueTime = 0, time.Time{}
	if c.run.schedule != nil {
		var isThere bool
		c.dueTime, isThere = c.run.schedule.take(c.ctx, during)
		// A turn that was due in the warm-up and begins late belongs to the warm-up.
		c.isMeasured = !c.dueTime.Before(during.from)
		return isThere
	}
	if most := c.run.job.Options.Load.Turns; most > 0 && c.run.turns.Add(1) > int64(most) {
		return false
	}
	now := time.Now()
	c.isMeasured = !now.Before(during.from)
	return now.Before(during.until) && c.ctx.Err() == nil
}

// Timed measures a call as a step. The first call of a turn counts from when the turn was due. The latency of a turn is
// the sum of its calls.
func (c *Caller) Timed(step string, call func() error) error {
	start := time.Now()
	if !c.dueTime.IsZero() {
		start, c.dueTime = c.dueTime, time.Time{}
	}
	err := call()
	took := time.Since(start)
	c.spentTime += took
	// Calls that the end of the run cancelled are no failures of the director.
	if c.isMeasured && c.ctx.Err() == nil {
		c.run.record.step(step).add(took, c.run.kindOf(err))
	}
	return err
}

// Unmeasured does work between calls, whose time is not measured.
func (c *Caller) Unmeasured(work func() error) error {
	start := time.Now()
	err := work()
	if !c.dueTime.IsZero() { // the next call counts from when it was due, which is later by this work
		c.dueTime = c.dueTime.Add(time.Since(start))
	}
	return err
}

// LastForSecond is a turn of a second, so that the costs of a call are those of a second. In it ten calls are made.
func (c *Caller) LastForSecond(step string, call func() error) error {
	for range 10 {
		err := c.Unmeasured(func() error { return Pause(c.ctx, time.Second/10) })
		if err == nil {
			err = c.Timed(step, call)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Failure is a call without a successful answer, which is counted under its kind.
type Failure struct {
	Kind string // for HTTP the status and the code of the problem, as in "503 unavailable"
	Err  error  // for people; may be nil
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Err == nil {
		return f.Kind
	}
	return f.Kind + ": " + f.Err.Error()
}

// Unwrap supports errors.Is.
func (f *Failure) Unwrap() error { return f.Err }

// KindOf returns the kind that an error is counted under; "" without an error.
func KindOf(err error) string {
	if err == nil {
		return ""
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Kind
	}
	return unsent
}

const unsent = "not sent"

// kindOf is KindOf of a scenario that may know the errors of its protocol.
func (r *run) kindOf(err error) string {
	kind, protocolKind := KindOf(err), r.job.Options.Scenario.Kind
	if kind == unsent && protocolKind != nil {
		kind = cmp.Or(protocolKind(err), unsent)
	}
	return kind
}
