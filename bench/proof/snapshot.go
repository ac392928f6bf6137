package proof

import (
	"context"
	"fmt"
	"math"
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
	arms: func(_ context.Context, b *testbed) ([]arm, error) {
		load := b.options.loadPrefilled(sessionLife)
		load.Load.Instances = 1000
		return []arm{b.director(lab.Web).besideSnapshot(sessionLife, load)}, nil
	},
	claims: append(forgottenClaims("throughput", sessionLife), noFailures(sessionLife)),
}

const sessionLife = "session-life"

// forgottenTimes is when a snapshot is held, from the end of the warm-up on.
type forgottenTimes struct {
	begin, end, whole time.Duration
	window            time.Duration // of a mean throughput
	recovery          time.Duration // longest, after the snapshot is closed
	tail              time.Duration // of the run, which is not counted
}

// The times are multiples of a slot of the timeline.
var (
	usualTimes = forgottenTimes{begin: 15 * time.Second, end: 75 * time.Second, whole: 95 * time.Second,
		window: 10 * time.Second, recovery: 10 * time.Second, tail: time.Second}
	quickTimes = forgottenTimes{begin: 3 * bench.TimelineSlot, end: 8 * bench.TimelineSlot,
		whole: 13 * bench.TimelineSlot}
)

// besideSnapshot is an arm of a load during which a snapshot is held. It is run once.
func (s side) besideSnapshot(name string, load bench.Options) arm {
	times := choose(s.bed.options, usualTimes, quickTimes)
	load.Duration = times.whole
	a := s.arm(name, load)
	a.beside = func(ctx context.Context) error {
		if bench.Pause(ctx, times.begin) != nil {
			return nil // the run is over, and has an error of its own
		}
		s.bed.options.say("a snapshot is held open for %s", times.end-times.begin)
		ctx, end := context.WithTimeout(ctx, times.end-times.begin)
		defer end()
		return s.bed.hold(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, "hold.sql")
	}
	a.isLast = true // dead rows that it leaves would be in the way of the next round
	return a
}

// hold keeps a transaction open that has run a file, until ctx ends.
func (b *testbed) hold(ctx context.Context, mode pgx.TxOptions, file string) error {
	statement, err := statements.ReadFile(file)
	if err != nil {
		return err
	}
	tx, err := b.pool.BeginTx(ctx, mode)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	_, err = tx.Exec(ctx, string(statement))
	<-ctx.Done()
	return err
}

// forgottenClaims compare the throughput of an arm with an open snapshot, and after it, with that before.
func forgottenClaims(words, arm string) []claim {
	t := usualTimes
	compared := func(rate func(timeline []int64) float64) measure {
		return reduceRounds(middle, percent, func(r round) float64 {
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
