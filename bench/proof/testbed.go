package proof

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/bench/realtime"
)

// testbed is the laboratory of an experiment.
type testbed struct {
	options Options
	lab     *lab.Lab
	pool    *pgxpool.Pool // to read and to fill the database
	mint    bench.MintFunc
	closers []func() error // are called before the laboratory closes
	cloud   *cloud         // of provision
}

// open starts the laboratory. close ends it, also after an error.
func (b *testbed) open(ctx context.Context, l lab.Options) (err error) {
	b.options.say("starting Postgres and %d of the director", max(l.Replicas, 1))
	if b.lab, b.mint, err = b.options.Start(ctx, l); err != nil {
		return err
	}
	b.pool, err = pgxpool.New(ctx, b.lab.URL())
	return err
}

// openOther starts a laboratory beside this one, which closes with it.
func (b *testbed) openOther(ctx context.Context, l lab.Options) (*testbed, error) {
	other := &testbed{options: b.options}
	b.closers = append(b.closers, other.close)
	return other, other.open(ctx, l)
}

// close ends what others have added, then the laboratory.
func (b *testbed) close() (err error) {
	for _, end := range b.closers {
		err = errors.Join(err, end())
	}
	if b.pool != nil {
		b.pool.Close()
	}
	if b.lab != nil {
		err = errors.Join(err, b.lab.Close())
	}
	return err
}

// side is the target of a load: the director, or a baseline.
type side struct {
	bed   *testbed
	urls  []string
	meter bench.Meter
}

// director returns all replicas, as they are called over a protocol.
func (b *testbed) director(over lab.Face) side {
	return side{b, lab.Addresses(b.lab.Replicas, over), b.lab}
}

// baselines returns the processes of the baselines (naive placement, no-ops and echoes), as many as there are replicas.
// The first call starts them.
func (b *testbed) baselines(ctx context.Context, over lab.Face) (side, error) {
	processes, err := b.lab.Baselines(ctx)
	return side{b, lab.Addresses(processes, over), b.lab.Meter(processes...)}, err
}

// arm makes an arm of a load on this side. One on the prefilled region begins with the rows that were there before the
// others.
func (s side) arm(name string, load bench.Options) arm {
	a := arm{name: name, on: s, load: &load}
	if load.Run == prefilled {
		a.preparation = []step{s.bed.script("growth_clean.sql")}
	}
	return a
}

// generate runs a load on this side. It sets the URLs, the tokens and the meter.
func (s side) generate(ctx context.Context, run bench.Options) (bench.Result, error) {
	run.URLs, run.Meter, run.AccessToken = s.urls, s.meter, s.bed.mint
	run.FleetToken, run.OpsToken = s.bed.lab.FleetToken, s.bed.lab.OpsToken
	if s.bed.options.Quick {
		run.WarmUp, run.Duration = 0, min(run.Duration, quickTimes.whole)
		limitLoad(&run.Load)
	}
	return bench.Run(ctx, run)
}

// limitLoad makes a load small enough to test that everything works.
func limitLoad(l *bench.Load) {
	for size, most := range map[*int]int{&l.Callers: 16, &l.Instances: 16, &l.Turns: 64, &l.Tickets: 100,
		&l.Watchers: 20, &l.Sessions: 8} {
		*size = min(*size, most)
	}
	l.Rate = min(l.Rate, 20)
}

// The arms of Postgres itself, by their names in the report.
const (
	commit  = "single-row commit"
	oneRow  = "commits of one row"
	notices = "notification"
)

// inPostgres is an arm of a scenario of Postgres itself, with as many callers as another load has.
func (b *testbed) inPostgres(name, scenario string, load bench.Options) arm {
	// A closed loop shows the most that Postgres commits.
	load.Scenario, load.Load.Rate = scenarioOf(scenario), 0
	return side{bed: b, urls: []string{b.lab.URL()}}.arm(name, load)
}

// scenarioOf is the scenario of a name, of any package. It panics without one.
func scenarioOf(name string) bench.Scenario {
	all := slices.Concat(bench.Scenarios, bench.LoopScenarios, bench.NoOps, openmatch.Scenarios, realtime.Scenarios,
		baseline.Scenarios)
	s := bench.Find(all, name)
	if s.Begin == nil {
		panic("there is no scenario " + name)
	}
	return s
}

// load is a closed loop on a few game servers.
func (o Options) load(scenario string, callers int) bench.Options {
	return bench.Options{
		Scenario: scenarioOf(scenario), Load: bench.Load{Callers: callers, Instances: 16},
		KeepsQueue: true, WarmUp: time.Second, Duration: choose(o, 4*time.Second, 300*time.Millisecond),
	}
}

// manyCallers is the number of concurrent callers where the experiment is about load, and fewCallers where it is about
// stored data.
const (
	manyCallers = 256
	fewCallers  = 64
)

// Rows that exist before a load are written by SQL: creating them through calls would take days. They are in the region
// of a run called prefilled, and their leases last a day.
const (
	prefilled       = "grown"
	prefilledRegion = "bench-" + prefilled + "-0"
)

// loadPrefilled is a load on the prefilled region.
func (o Options) loadPrefilled(scenario string) bench.Options {
	run := o.load(scenario, fewCallers)
	run.Run, run.Duration = prefilled, choose(o, 5*time.Second, time.Second)
	return run
}

// loadUsual is a load of the scenario's usual size.
func (o Options) loadUsual(scenario string, duration time.Duration) bench.Options {
	usual := scenarioOf(scenario).Usual
	run := o.load(scenario, usual.Callers)
	run.Load.Rate, run.Load.Tickets, run.Load.Watchers = usual.Rate, usual.Tickets, usual.Watchers
	run.Duration = choose(o, duration, 300*time.Millisecond)
	return run
}

// callBeside makes calls beside the runs of an arm, one after the other, and again after an interval. How long they
// took becomes values of the run, and "failed beside" is those that failed. ctx is the experiment's: the last calls may
// end after the run.
func (a arm) callBeside(ctx context.Context, interval time.Duration, names []string,
	call func(ctx context.Context, name string) error) arm {
	turn := func(ctx context.Context, c *bench.Caller) error {
		start := time.Now()
		for _, name := range names {
			_ = c.Timed(name, func() error { return call(ctx, name) }) // counted
		}
		return bench.Pause(ctx, interval-time.Since(start))
	}
	var calls bench.Result
	a.beside = func(context.Context) (err error) {
		calls, err = bench.Run(ctx, bench.Options{
			Scenario: bench.Scenario{Name: "beside", Begin: bench.Turns(turn)}, URLs: []string{"none"},
			Load: bench.Load{Callers: 1}, Duration: a.load.Duration,
		})
		return err
	}
	a.complete = func(_ context.Context, r *bench.Result) error {
		r.Values["failed beside"] = 0
		for _, s := range calls.Steps {
			r.Values["failed beside"] += float64(s.Failed)
			if s.Failed < s.Calls { // else there is no latency
				r.Values[s.Step+" p50"], r.Values[s.Step+" p99"] = s.Latency.P50, s.Latency.P99
			}
		}
		return nil
	}
	return a
}

// failedBeside is how many calls of callBeside failed.
var failedBeside = valueOf("failed beside", inFull)

//go:embed *.sql
var statements embed.FS

// sql runs a file of statements. An empty line ends a transaction; each one gets all args.
func (b *testbed) sql(ctx context.Context, file string, args ...any) error {
	script, err := statements.ReadFile(file)
	if err != nil {
		return err
	}
	// VACUUM and CHECKPOINT cannot share a transaction; the simple protocol takes several statements at a time
	for part := range strings.SplitSeq(string(script), "\n\n") {
		if _, err := b.pool.Exec(ctx, part, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// script is a step that runs a file of statements.
func (b *testbed) script(file string, args ...any) step {
	return func(ctx context.Context) error { return b.sql(ctx, file, args...) }
}

// settle is a step that vacuums the database.
func (b *testbed) settle(ctx context.Context) error { return b.sql(ctx, "settle.sql") }

// await is a step that waits until a query from a file has a row: a worker is then done with the rows of an earlier arm.
func (b *testbed) await(limit time.Duration, file string) step {
	return func(ctx context.Context) error {
		_, err := b.valuesOf(ctx, limit, file)
		return err
	}
}

// valuesOf repeats a query from a file until it has a row, and returns the values of a run in it: double precision,
// under their names. NULL is a value that could not be measured. Errors: those of the query, the end of ctx, and a limit
// that has passed.
func (b *testbed) valuesOf(ctx context.Context, limit time.Duration, file string, args ...any) (map[string]float64,
	error) {
	query, err := statements.ReadFile(file)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s shows no end within %s", file, limit))
	defer cancel()
	for {
		rows, _ := b.pool.Query(ctx, string(query), args...) // the rows have its error
		found, err := pgx.CollectRows(rows, pgx.RowToMap)
		if err != nil {
			return nil, errors.Join(err, context.Cause(ctx)) // the end of ctx alone does not say which file was awaited
		}
		if len(found) > 0 {
			return floatsOf(found[0]), nil
		}
		if err := bench.Pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// floatsOf converts a row.
func floatsOf(row map[string]any) map[string]float64 {
	values := map[string]float64{}
	for name, value := range row {
		values[name] = math.NaN()
		if v, ok := value.(float64); ok {
			values[name] = v
		}
	}
	return values
}

// addValues is what completes a result by the values of a query from a file.
func (b *testbed) addValues(file string, args ...any) func(context.Context, *bench.Result) error {
	return func(ctx context.Context, r *bench.Result) error {
		values, err := b.valuesOf(ctx, time.Minute, file, args...)
		maps.Copy(r.Values, values)
		return err
	}
}
