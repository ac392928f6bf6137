package proof

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// A closed loop of 64 callers on a thousand game servers, whose players get a seat, resolve it, join and leave, so that
// as many rows are deleted as are written. During the load a transaction begins (REPEATABLE READ), reads, and stays
// open: vacuum cannot remove rows that are deleted from then on, and queries have to skip them.
//
// Throughput is measured before the transaction, while it is open, and from ten seconds after its end.
var snapshot = Experiment{
	Name: "snapshot", Title: "A forgotten snapshot", Takes: "2 min", isOnce: true,
	About: "Whether a forgotten open transaction slows down placement, and for how long; one round",
	parts: inOneLab(lab.Options{}, snapshotArms),
	claims: func(o Options) []claim {
		return append(forgottenClaims("throughput", sessionLife, o.forgottenTimes()), noFailures(sessionLife))
	},
}

const sessionLife = "session-life"

// forgottenTimes is when a snapshot is held, from the end of the warm-up on.
type forgottenTimes struct {
	begin, end, whole time.Duration
	window            time.Duration // of a mean throughput
	recovery          time.Duration // longest, after the snapshot is closed
	tail              time.Duration // of the run, which is not counted
}

// forgottenTimes are multiples of a slot of the timeline.
func (o Options) forgottenTimes() forgottenTimes {
	if o.Quick {
		const tick = bench.TimelineSlot
		return forgottenTimes{begin: 3 * tick, end: 8 * tick, whole: 13 * tick, window: 2 * tick, recovery: 2 * tick, tail: tick}
	}
	return forgottenTimes{begin: 15 * time.Second, end: 75 * time.Second, whole: 95 * time.Second, window: 10 * time.Second,
		recovery: 10 * time.Second, tail: time.Second}
}

func snapshotArms(_ context.Context, b *testbed) ([]arm, error) {
	run := b.options.loadPrefilled(sessionLife)
	run.Load.Instances = choose(b.options, 1000, 2)
	return []arm{b.besideSnapshot(sessionLife, b.director(lab.Web), run)}, nil
}

// besideSnapshot is an arm of a load during which a snapshot is held. It is run once.
func (b *testbed) besideSnapshot(name string, on side, run bench.Options) arm {
	times, isMeasuring := b.options.forgottenTimes(), make(chan struct{})
	run.Duration, run.Measuring = times.whole, sync.OnceFunc(func() { close(isMeasuring) })
	a := b.arm(name, on, run).beside(func(ctx context.Context) error {
		select {
		case <-isMeasuring:
		case <-ctx.Done():
			return nil
		}
		return b.holdSnapshot(ctx, times)
	})
	a.isLast = true // dead rows that it leaves would be in the way of the next round
	return a
}

// holdSnapshot keeps a snapshot open for a while. It is taken by the first statement of a transaction, not by its BEGIN.
func (b *testbed) holdSnapshot(ctx context.Context, t forgottenTimes) error {
	if bench.Pause(ctx, t.begin) != nil {
		return nil //nolint:nilerr // the run is over, and has an error of its own
	}
	b.options.say("a snapshot is held open for %s", t.end-t.begin)
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, b.pool, options, func(tx pgx.Tx) error {
		if _, err := rowsOf[struct{ Count int }](ctx, tx, "hold.sql"); err != nil {
			return err
		}
		return bench.Pause(ctx, t.end-t.begin)
	})
}

// forgottenClaims compare the throughput of an arm with an open snapshot, and after it, with that before.
func forgottenClaims(words, arm string, t forgottenTimes) []claim {
	compared := func(rate func(timeline []int64) float64) measure {
		return medianOver(percent, func(r round) float64 {
			return rate(r[arm].Timeline) / rateBetween(r[arm].Timeline, 0, t.begin)
		}, arm)
	}
	return []claim{
		{fmt.Sprintf("%s while a snapshot is held open for %s, the lowest over %s", words, t.end-t.begin, t.window),
			compared(func(timeline []int64) float64 { return lowestRate(timeline, t.begin, t.end, t.window) }),
			atLeast(0.6)},
		{fmt.Sprintf("%s from %s after its end on", words, t.recovery),
			compared(func(timeline []int64) float64 { return rateBetween(timeline, t.end+t.recovery, t.whole-t.tail) }),
			atLeast(0.9)},
	}
}

// rateBetween is the turns a second between two times of a run; NaN beyond its end. The times are multiples of a slot.
func rateBetween(timeline []int64, from, to time.Duration) float64 {
	first, end := int(from/bench.TimelineSlot), int(to/bench.TimelineSlot)
	if end > len(timeline) { // no turn ended in the rest: nobody knows whether the run did
		return math.NaN()
	}
	sum := int64(0)
	for _, n := range timeline[first:end] {
		sum += n
	}
	return float64(sum) / (to - from).Seconds()
}

// lowestRate is the lowest rate of a window between two times.
func lowestRate(timeline []int64, from, to, window time.Duration) float64 {
	lowest := math.NaN()
	for at := from; at+window <= to; at += bench.TimelineSlot {
		if rate := rateBetween(timeline, at, at+window); !(rate >= lowest) {
			lowest = rate
		}
	}
	return lowest
}
