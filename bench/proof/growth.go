package proof

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Installations of several sizes, each with its own Postgres and replica on one machine, are loaded in
// turn: by a closed loop of 64 callers, whose players are placed on ten game servers that the load registers.
//
// The existing rows are written before, in the region that is measured: open sessions with connected players, most of
// them full, the others with free seats in another mode or of another size; past seats, spread over thirty days; and
// for one installation thousands of game servers on which any call may open a session. Indexes, write-ahead log and
// statistics are the same in every installation, and everything has been vacuumed once. The rows of each run are
// deleted before the next.
var growth = Experiment{
	Name: "growth", Title: "Growth", Takes: "6 min", Run: runGrowth,
	About: "Whether placement slows down with open sessions, past ones and game servers",
}

// installation is the size of an installation that has run for a while.
type installation struct {
	name     string
	sessions int // open
	past     int // seats
	hosts    int // with free seats, in addition to the few of a run
}

func (o Options) installations() []installation {
	if o.Quick {
		return []installation{{"young", 34, 800, 0}, {"older", 68, 1_600, 0}, {"old", 340, 8_000, 0},
			{"large", 34, 800, 200}}
	}
	return []installation{{"young", 100, 10_000, 0}, {"older", 10_000, 1_000_000, 0}, {"old", 100_000, 10_000_000, 0},
		{"large", 100, 10_000, 10_000}}
}

// String is for people.
func (i installation) String() string {
	text := fmt.Sprintf("%s open sessions and %s past seats", whole(i.sessions), whole(i.past))
	if i.hosts > 0 {
		text += fmt.Sprintf(" and %s game servers", whole(i.hosts))
	}
	return text
}

func whole(n int) string { return inFull(float64(n)) }

func runGrowth(ctx context.Context, o Options) (Section, error) {
	var all rounds
	sizes := o.installations()
	err := o.inAll(ctx, len(sizes), func(ctx context.Context, beds []*testbed) (err error) {
		var trials []trial
		for i, b := range beds {
			if err := b.prefill(ctx, sizes[i]); err != nil {
				return err
			}
			trials = append(trials, b.cleaned(b.trial(sizes[i].name, b.director(), o.load(matchmake))))
		}
		all, err = o.measure(ctx, trials...)
		return err
	})
	if err != nil {
		return Section{}, err
	}
	runs := all.typical("young", "older", "old", "large")
	return Section{
		Findings: all.growth(sizes), Runs: runs,
	}, nil
}

// inAll runs an experiment in several laboratories at the same time.
func (o Options) inAll(ctx context.Context, n int, do func(ctx context.Context, beds []*testbed) error,
	beds ...*testbed) error {
	if len(beds) == n {
		return do(ctx, beds)
	}
	return o.in(ctx, lab.Options{}, func(ctx context.Context,
		b *testbed) error {
		return o.inAll(ctx, n, do, append(beds, b)...)
	})
}

// few is the number of callers where the experiment is about stored data, not about load.
const few = 64

// cleaned deletes after each run what the run has left in the prefilled region.
func (b *testbed) cleaned(t trial) trial {
	return trial{t.name, func(ctx context.Context) (bench.Result, error) {
		result, err := t.run(ctx)
		if err != nil {
			return result, err
		}
		return result, b.sql(ctx, "growth_clean.sql")
	}}
}

// load is a short load on the prefilled region.
func (o Options) load(scenario string) bench.Options {
	return bench.Options{
		Scenario: scenario, Run: prefilled, Callers: of(o, few, 4), Instances: of(o, 10, 2),
		WarmUp: of(o, time.Second, 50*time.Millisecond), Duration: of(o, 5*time.Second, time.Second),
	}
}

func (all rounds) growth(sizes []installation) []Finding {
	young, older, old, large := sizes[0], sizes[1], sizes[2], sizes[3]
	return []Finding{
		all.beside(older, young, fmt.Sprintf("throughput with %s, compared with %s", older, young)),
		all.beside(old, young, fmt.Sprintf("throughput with %s, compared with %s", old, young)),
		all.beside(large, young, fmt.Sprintf("throughput with %s game servers, compared with 10", whole(large.hosts))),
		all.failures(young.name, older.name, old.name, large.name),
	}
}

// beside makes the finding that one throughput is at most a fifth below another.
func (all rounds) beside(one, other installation, claim string) Finding {
	f := atLeast(claim, all.compared(one.name, other.name, throughput), 0.8, times)
	return noted(f, "%s and %s a call, compared with %s and %s",
		all.rate(one.name), all.show(one.name, cpu, micros), all.rate(other.name), all.show(other.name, cpu, micros))
}
