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

// Done counts what a run did, by what it did it to: "instances", "keys", … What it did nothing to is not in it.
type Done map[string]int

func (d Done) add(what string, n int) {
	if n > 0 {
		d[what] += n
	}
}

// result is how one run of a loop went.
type result struct {
	loop string
	done Done // also what an error came too late for
	took time.Duration
	err  error
	next time.Duration // until the next run
}

// loop runs runOnce again and again.
type loop struct {
	name    string
	every   time.Duration
	timeout time.Duration // of one run
	runOnce func(context.Context) (Done, error)

	log     *slog.Logger
	metrics *metrics
	pause   func(ctx context.Context, d time.Duration) bool // false: ctx ended
	seen    func(result)                                    // for tests; may be nil
	failing string                                          // how the last run failed

	record   func(ctx context.Context, loop string, every time.Duration) error // notes a success; nil: nowhere
	recorded time.Time                                                         // when it last did
}

func (l *loop) run(ctx context.Context) {
	retry := l.retries()
	for {
		r := l.attempt(ctx)
		if ctx.Err() != nil {
			return // cut off, which says nothing about how it went
		}
		if r.err == nil {
			l.remember(ctx)
			retry.Reset()
			r.next = spread(l.every)
		} else {
			r.next = retry.NextBackOff()
		}
		l.report(ctx, r)
		if !l.pause(ctx, r.next) {
			return
		}
	}
}

// retries are the pauses after failures: short at first even for a loop that runs rarely, and long enough in the end
// that workers do not hammer on a database that is coming back.
func (l *loop) retries() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = min(l.every, time.Second)
	b.MaxInterval = max(l.every, 10*time.Second)
	b.Multiplier = 2
	return b
}

// attempt is one run. A panic is an error of that run: the loop's next run and the other loops have a right to theirs.
func (l *loop) attempt(ctx context.Context) (r result) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	begun := time.Now()
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		r.loop, r.took = l.name, time.Since(begun)
	}()
	r.done, r.err = l.runOnce(ctx)
	return r
}

func (l *loop) report(ctx context.Context, r result) {
	l.metrics.observe(r)
	if len(r.done) > 0 {
		attrs := []slog.Attr{slog.Duration("took", r.took)}
		for _, what := range slices.Sorted(maps.Keys(r.done)) {
			attrs = append(attrs, slog.Int(what, r.done[what]))
		}
		l.log.LogAttrs(ctx, slog.LevelInfo, "worked", attrs...)
	}
	l.tell(ctx, r.err)
	if l.seen != nil {
		l.seen(r)
	}
}

// tell logs a failure once, and its end: an outage is two lines, however long it lasts. Metrics count every run.
func (l *loop) tell(ctx context.Context, err error) {
	was := l.failing
	switch {
	case err == nil && was != "":
		l.failing = ""
		l.log.LogAttrs(ctx, slog.LevelInfo, "works again")
	case err != nil && err.Error() != was:
		l.failing = err.Error()
		l.log.LogAttrs(ctx, slog.LevelWarn, "failing", slog.Any("error", err))
	}
}

// spread moves an interval by up to a tenth either way.
func spread(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
