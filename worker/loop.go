package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// loop calls runOnce at an interval.
type loop struct {
	name       string
	interval   time.Duration
	runTimeout time.Duration // of one run
	runOnce    func(context.Context) (Done, error)

	log         *slog.Logger
	metrics     *metrics
	waitForNext func(ctx context.Context, d time.Duration) bool // false: ctx ended
	onResult    func(result)                                    // for tests; may be nil
	lastError   string                                          // of the last run; "" when it succeeded

	// stores a success; nil: successes are not stored
	storeSuccess func(ctx context.Context, loop string, interval time.Duration) error
	recordedAt   time.Time // when storeSuccess last succeeded
}

func (l *loop) run(ctx context.Context) {
	retry := l.retryPauses()
	for {
		r := l.attemptRun(ctx)
		if ctx.Err() != nil {
			return // the run was cancelled: its result says nothing
		}
		if r.err == nil {
			l.recordSuccess(ctx)
			retry.Reset()
			r.nextPause = jitterInterval(l.interval)
		} else {
			r.nextPause = retry.NextBackOff()
		}
		l.reportRun(ctx, r)
		if !l.waitForNext(ctx, r.nextPause) {
			return
		}
	}
}

// retryPauses returns the pauses after failures. The first is short even for a loop with a long interval; the last are
// long enough that many workers do not overload a database that is starting again.
func (l *loop) retryPauses() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = min(l.interval, time.Second)
	b.MaxInterval = max(l.interval, 10*time.Second)
	b.Multiplier = 2
	return b
}

// attemptRun runs the loop once. A panic becomes an error of that run, so that it stops neither the loop's next runs
// nor other loops.
func (l *loop) attemptRun(ctx context.Context) (r result) {
	// The timeout is of one run. The pause after it has the context of the worker.
	ctx, cancel := context.WithTimeout(ctx, l.runTimeout)
	defer cancel()
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			// The stack is in the log once: an equal error is not logged again.
			r.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		r.loopName, r.runTime = l.name, time.Since(start)
	}()
	r.doneCounts, r.err = l.runOnce(ctx)
	return r
}

func (l *loop) reportRun(ctx context.Context, r result) {
	l.metrics.observeRun(r)
	// Runs without work are in the metrics only: most runs of most loops are such.
	if len(r.doneCounts) > 0 {
		attrs := []slog.Attr{slog.Duration("took", r.runTime)}
		for _, what := range slices.Sorted(maps.Keys(r.doneCounts)) {
			attrs = append(attrs, slog.Int(what, r.doneCounts[what]))
		}
		l.log.LogAttrs(ctx, slog.LevelInfo, "worked", attrs...)
	}
	l.logFailure(ctx, r.err)
	if l.onResult != nil {
		l.onResult(r)
	}
}

// logFailure logs the first of equal failures, and the success that follows: an outage of any length gives two lines.
// Metrics count every run.
func (l *loop) logFailure(ctx context.Context, err error) {
	// Compared by text: an error whose text changes each time is logged each time.
	last := l.lastError
	switch {
	case err == nil && last != "":
		l.lastError = ""
		l.log.LogAttrs(ctx, slog.LevelInfo, "works again")
	case err != nil && err.Error() != last:
		l.lastError = err.Error()
		l.log.LogAttrs(ctx, slog.LevelWarn, "failing", slog.Any("error", err))
	}
}

// jitterInterval changes an interval by up to a tenth in either direction.
func jitterInterval(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

// recordSuccess records that a run has just succeeded, at most once in recordInterval. When that fails, the run still
// counts as a success: its work is done.
func (l *loop) recordSuccess(ctx context.Context) {
	// Counted from the last success of storeSuccess: after a failure the next run tries again.
	if l.storeSuccess == nil || time.Since(l.recordedAt) < recordInterval {
		return
	}
	// The run's own context has ended. A database that hangs must not keep the loop for longer.
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if err := l.storeSuccess(ctx, l.name, l.interval); err != nil {
		l.log.LogAttrs(ctx, slog.LevelDebug, "success could not be recorded", slog.Any("error", err))
		return
	}
	l.recordedAt = time.Now()
}

// Each loop records its successes in the database (ops.worker_loops), for operators who cannot see the workers'
// metrics.
const (
	recordInterval = 10 * time.Second
	recordTimeout  = 2 * time.Second
)
