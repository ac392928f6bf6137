package proof

import (
	"context"
	"embed"
	"errors"
	"fmt"
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
	lab     *lab.Lab
	options Options
	pool    *pgxpool.Pool // to read and to fill the database
	mint    bench.MintFunc
	closers []func() error // of what ends with the laboratory
}

// Rows that exist before a load are written by SQL: creating them through calls would take days. They are in the region
// of a run called prefilled, and their leases last a day.
const (
	prefilled       = "grown"
	prefilledRegion = "bench-" + prefilled + "-0"

	pastDays    = 30 // the default retention of history
	pastPlayers = 8  // per session
)

// open starts a laboratory. The caller closes it.
func (o Options) open(ctx context.Context, l lab.Options) (*testbed, error) {
	o.say("starting Postgres and %d of the director", max(l.Replicas, 1))
	started, mint, err := o.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, started.URL())
	if err != nil {
		return nil, errors.Join(err, started.Close())
	}
	return &testbed{lab: started, options: o, pool: pool, mint: mint}, nil
}

// openOther starts a laboratory beside this one.
func (b *testbed) openOther(ctx context.Context, l lab.Options) (*testbed, error) {
	other, err := b.options.open(ctx, l)
	if err == nil {
		b.closers = append(b.closers, other.close)
	}
	return other, err
}

// close ends what openOther and the arms have added, then the laboratory.
func (b *testbed) close() (err error) {
	for _, end := range b.closers {
		err = errors.Join(err, end())
	}
	b.pool.Close()
	return errors.Join(err, b.lab.Close())
}

// side is the target of a load: the director, or a baseline.
type side struct {
	urls  []string
	meter bench.Meter
}

// director returns all replicas, as they are called over a protocol.
func (b *testbed) director(over lab.Face) side {
	return side{lab.Addresses(b.lab.Replicas, over), b.lab}
}

// baselines returns the processes of the baselines (naive placement, no-ops and echoes), as many as there are replicas.
// The first call starts them.
func (b *testbed) baselines(ctx context.Context, over lab.Face) (side, error) {
	processes, err := b.lab.Baselines(ctx)
	return side{lab.Addresses(processes, over), b.lab.Meter(processes...)}, err
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
		Scenario: scenarioOf(scenario), Load: bench.Load{Callers: callers, Instances: choose(o, 16, 2)},
		KeepsQueue: true,
		WarmUp:     choose(o, time.Second, 50*time.Millisecond),
		Duration:   choose(o, 4*time.Second, 300*time.Millisecond),
	}
}

// manyCallers is the number of concurrent callers where the experiment is about load, and fewCallers where it is about
// stored data.
const (
	manyCallers = 256
	fewCallers  = 64
)

// loadPrefilled is a load on the prefilled region.
func (o Options) loadPrefilled(scenario string) bench.Options {
	run := o.load(scenario, choose(o, fewCallers, 4))
	run.Run, run.Duration = prefilled, choose(o, 5*time.Second, time.Second)
	return run
}

// loadUsual is a load of the scenario's usual size.
func (o Options) loadUsual(scenario string, duration time.Duration) bench.Options {
	usual := scenarioOf(scenario).Usual
	run := o.load(scenario, usual.Callers)
	run.Load.Rate, run.Load.Tickets, run.Load.Watchers, run.Duration = usual.Rate, usual.Tickets, usual.Watchers, duration
	if o.Quick {
		run.Load.Callers, run.Load.Rate, run.WarmUp, run.Duration = min(run.Load.Callers, 4), min(run.Load.Rate, 20), 0,
			300*time.Millisecond
		run.Load.Tickets, run.Load.Watchers = min(run.Load.Tickets, 100), min(run.Load.Watchers, 20)
	}
	return run
}

// arm makes an arm of a load on one side.
func (b *testbed) arm(name string, on side, run bench.Options) arm {
	return arm{name: name, run: func(ctx context.Context) (bench.Result, error) { return b.generate(ctx, on, run) }}
}

// generate runs a load on one side. It sets the URLs, the tokens and the meter.
func (b *testbed) generate(ctx context.Context, on side, run bench.Options) (bench.Result, error) {
	run.URLs, run.Meter, run.AccessToken = on.urls, on.meter, b.mint
	run.FleetToken, run.OpsToken = b.lab.FleetToken, b.lab.OpsToken
	return bench.Run(ctx, run)
}

// The arms of Postgres itself, by their names in the report.
const (
	commit  = "single-row commit"
	oneRow  = "commits of one row"
	notices = "notification"
)

// inPostgres is an arm of a scenario of Postgres itself, with as many callers as another load has.
func (b *testbed) inPostgres(name, scenario string, run bench.Options) arm {
	// a closed loop, which shows the most that Postgres commits
	run.Scenario, run.Load.Rate = scenarioOf(scenario), 0
	return b.arm(name, side{urls: []string{b.lab.URL()}}, run)
}

// commits is single-row commits.
func (b *testbed) commits(load bench.Options) arm { return b.inPostgres(commit, "commit", load) }

// notifications is notifications from one connection to another.
func (b *testbed) notifications() arm {
	return b.inPostgres(notices, "notice", b.options.load("notice", 1))
}

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

// settle is a step that vacuums the database, so that no arm pays for the rows of an earlier one.
func (b *testbed) settle(ctx context.Context) error { return b.sql(ctx, "settle.sql") }

// await is a step that waits until a query from a file has a row: a worker is then done with the rows of an earlier arm.
func (b *testbed) await(limit time.Duration, file string) step {
	return func(ctx context.Context) error {
		_, err := awaitRow[struct{ IsDone bool }](ctx, b.pool, limit, file)
		return err
	}
}

// querier is a pool or a connection.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func queryFile(ctx context.Context, on querier, file string, args ...any) (pgx.Rows, error) {
	query, err := statements.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return on.Query(ctx, string(query), args...)
}

// rowsOf runs a query from a file.
func rowsOf[T any](ctx context.Context, on querier, file string, args ...any) ([]T, error) {
	rows, err := queryFile(ctx, on, file, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// valuesOf runs a query from a file whose only row has the values of a run: double precision, under their names. NULL is
// a value that could not be measured.
func (b *testbed) valuesOf(ctx context.Context, file string, args ...any) (map[string]float64, error) {
	rows, err := queryFile(ctx, b.pool, file, args...)
	if err != nil {
		return nil, err
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
	values := map[string]float64{}
	for name, value := range row {
		values[name] = math.NaN()
		if v, ok := value.(float64); ok {
			values[name] = v
		}
	}
	return values, err
}

// awaitRow repeats a query from a file until it has a row, and returns that row. Errors: those of the query, the end of
// ctx, and a limit that has passed.
func awaitRow[T any](ctx context.Context, on querier, limit time.Duration, file string, args ...any) (row T, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s shows no end within %s", file, limit))
	defer cancel()
	for {
		rows, err := rowsOf[T](ctx, on, file, args...)
		if err != nil {
			return row, errors.Join(err, context.Cause(ctx)) // the end of ctx alone does not say which file was awaited
		}
		if len(rows) > 0 {
			return rows[0], nil
		}
		if err := bench.Pause(ctx, 50*time.Millisecond); err != nil {
			return row, err
		}
	}
}
