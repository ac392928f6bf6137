package proof

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Installations of several sizes, each with its own Postgres and replica on one machine, are loaded in
// turn: by a closed loop of 64 callers, whose players are placed on a few game servers that the load registers.
//
// The existing rows are written before, in the region that is measured: open sessions with connected players, most of
// them full, the others with free seats in another mode or of another size; past seats, spread over thirty days; and
// for one installation thousands of game servers on which any call may open a session. Indexes, write-ahead log and
// statistics are the same in every installation, and everything has been vacuumed once. The rows of each run are
// deleted before the next.
var growth = Experiment{
	Name: "growth", Title: "Growth", Takes: "6 min",
	About: "Whether placement slows down with open sessions, past ones and game servers",
	parts: inOneLab(lab.Options{}, growthArms), claims: growthClaims,
}

// installation is the size of an installation that has run for a while.
type installation struct {
	name      string
	sessions  int // open
	pastSeats int
	hosts     int // with free seats, in addition to the few of a run
}

// installations are the compared sizes: the first is what the others are compared with.
func (o Options) installations() []installation {
	return choose(o,
		[]installation{{"young", 100, 10_000, 0}, {"older", 10_000, 1_000_000, 0}, {"old", 100_000, 10_000_000, 0},
			{"large", 100, 10_000, 10_000}},
		[]installation{{"young", 34, 800, 0}, {"older", 68, 1_600, 0}, {"old", 340, 8_000, 0}, {"large", 34, 800, 200}})
}

// String is for people.
func (i installation) String() string {
	words := fmt.Sprintf("%s open sessions and %s past seats", whole(i.sessions), whole(i.pastSeats))
	if i.hosts > 0 {
		words += fmt.Sprintf(" and %s game servers", whole(i.hosts))
	}
	return words
}

func growthArms(ctx context.Context, b *testbed) (arms []arm, err error) {
	for i, size := range b.options.installations() {
		at := b
		if i > 0 { // the first has the laboratory of the experiment
			if at, err = b.openOther(ctx, lab.Options{}); err != nil {
				return nil, err
			}
		}
		if err := at.prefill(ctx, size); err != nil {
			return nil, err
		}
		load := at.options.loadPrefilled(matchmake)
		arms = append(arms, at.arm(size.name, at.director(lab.Web), load).finish(at.deleteRun))
	}
	return arms, nil
}

func growthClaims(o Options) []claim {
	sizes := o.installations()
	young, older, old, large := sizes[0], sizes[1], sizes[2], sizes[3]
	const fifthLess = 0.8
	compared := func(one installation) measure { return ratio(one.name, young.name, throughput) }
	return []claim{
		{fmt.Sprintf("throughput with %s, compared with %s", older, young), compared(older), atLeast(fifthLess)},
		{fmt.Sprintf("throughput with %s, compared with %s", old, young), compared(old), atLeast(fifthLess)},
		{fmt.Sprintf("throughput with %s game servers, compared with a few", whole(large.hosts)), compared(large),
			atLeast(fifthLess)},
		noFailures(young.name, older.name, old.name, large.name),
	}
}

// prefill fills the database to the size of an installation, and vacuums and analyzes it.
func (b *testbed) prefill(ctx context.Context, size installation) error {
	b.options.say("planting %s", size)
	start := time.Now()
	for _, do := range []step{
		b.script("growth_sessions.sql", prefilledRegion, size.sessions),
		b.script("growth_hosts.sql", prefilledRegion, size.hosts), b.script("growth_days.sql"),
		func(ctx context.Context) error { return b.prefillHistory(ctx, size.pastSeats) }, b.settle,
	} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	b.options.say("prefilled in %.0f s", time.Since(start).Seconds())
	return nil
}

// prefillHistory spreads past seats over the days of the retention.
func (b *testbed) prefillHistory(ctx context.Context, seats int) error {
	// two at a time, each into the partition of its day
	return bench.Concurrently(ctx, pastDays, 2, func(ctx context.Context, daysAgo int) error {
		return b.sql(ctx, "growth_past.sql", prefilledRegion, daysAgo, seats/pastPlayers/pastDays)
	})
}

// deleteRun deletes what a run has left in the prefilled region.
func (b *testbed) deleteRun(ctx context.Context, _ *bench.Result) error {
	return b.sql(ctx, "growth_clean.sql")
}
