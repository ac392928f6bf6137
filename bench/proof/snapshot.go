package proof

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// A closed loop of 64 callers on a thousand game servers, whose players get a seat, resolve it, join and leave, so that
// as many rows are deleted as are written. During the load a transaction begins (REPEATABLE READ), reads, and stays
// open: vacuum cannot remove rows that are deleted from then on, and queries have to skip them.
//
// Throughput is measured before the transaction, while it is open, and from ten seconds after its end.
var snapshot = Experiment{
	Name: "snapshot", Title: "A forgotten snapshot", Takes: "2 min", Run: runSnapshot,
	About: "Whether a forgotten open transaction slows down placement, and for how long; one round",
}

const sessionLife = "session-life"

// forgetting is the timing of the experiment, from the end of the warm-up on.
type forgetting struct {
	begin, end, over time.Duration
	window, step     time.Duration // of a mean throughput
	recovery         time.Duration // longest, after the snapshot is closed
}

func (o Options) forgetting() forgetting {
	if o.Quick {
		const tick = 200 * time.Millisecond
		return forgetting{begin: 3 * tick, end: 8 * tick, over: 13 * tick, window: 2 * tick, step: tick,
			recovery: 2 * tick}
	}
	return forgetting{begin: 15 * time.Second, end: 75 * time.Second, over: 95 * time.Second, window: 10 * time.Second,
		step: time.Second, recovery: 10 * time.Second}
}

func runSnapshot(ctx context.Context, o Options) (Section, error) {
	times := o.forgetting()
	var course course
	var result bench.Result
	err := o.in(ctx, lab.Options{}, func(ctx context.Context, b *testbed) error {
		running, ctx := errgroup.WithContext(ctx)
		begun := make(chan struct{})
		running.Go(func() (err error) {
			load := o.load(sessionLife)
			load.Duration, load.Instances = times.over, of(o, 1000, 2)
			load.Progress = course.follow(load.WarmUp, begun)
			result, err = b.run(ctx, b.director(), load)
			return err
		})
		running.Go(func() error { return b.forget(ctx, begun, times) })
		return running.Wait()
	})
	if err != nil {
		return Section{}, err
	}
	return Section{
		Findings: course.forgotten("throughput", times, result),
		Runs:     []Run{{Name: sessionLife, Result: result}},
	}, nil
}

// forgotten makes the findings that compare the throughput with an open snapshot, and after it, with that before. what
// names the throughput.
func (c *course) forgotten(what string, t forgetting, result bench.Result) []Finding {
	before := c.rate(0, t.begin)
	during, after := c.lowest(t.begin, t.end, t.window), c.rate(t.end+t.recovery, t.over-t.step)
	return []Finding{
		noted(atLeast(fmt.Sprintf("%s while a snapshot is held open for %s, the lowest over %s", what, t.end-t.begin,
			t.window), during/before, 0.6, percent),
			"%s before, %s at the lowest, %s in the mean", perSecond(before), perSecond(during),
			perSecond(c.rate(t.begin, t.end))),
		noted(atLeast(fmt.Sprintf("%s from %s after its end on", what, t.recovery), after/before, 0.9, percent),
			"%s in these seconds, %s thereafter", perSecond(c.rate(t.end, t.end+t.recovery)), perSecond(after)),
		rounds{{what: result}}.failures(what),
	}
}

// hold is a query whose snapshot the transaction keeps.
//
//go:embed hold.sql
var hold string

// forget keeps a snapshot open for a while, from some time after begun is closed.
func (b *testbed) forget(ctx context.Context, begun <-chan struct{}, times forgetting) error {
	select {
	case <-begun:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := wait(ctx, times.begin); err != nil {
		return err
	}
	b.options.say("a snapshot is held open for %s", times.end-times.begin)
	return pgx.BeginTxFunc(ctx, b.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, hold); err != nil {
				return err
			}
			return wait(ctx, times.end-times.begin)
		})
}

// wait waits for d. Its error is the cause of the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
