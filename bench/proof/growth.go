package proof

import (
	"context"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
// deleted before the next, except for its history.
//
// One of them is loaded again beside a dashboard: one connection, with the limits of dashboards in ops/grants.sql, that
// reads every view of schema ops once a second, up to a thousand rows of each.
var growth = Experiment{
	Name: "growth", Title: "Growth, and a dashboard", Takes: "7 min", arms: growthArms,
	About: "Whether placement slows down with open sessions, past ones, game servers, and beside a dashboard",
	claims: []claim{
		{"throughput with 10,000 open sessions and 1,000,000 past seats, compared with 100 and 10,000",
			ratio(older, young, throughput), atLeast(0.8)},
		{"throughput with 100,000 open sessions and 10,000,000 past seats, compared with 100 and 10,000",
			ratio(old, young, throughput), atLeast(0.8)},
		{"throughput with 10,000 game servers, compared with a few", ratio(large, young, throughput), atLeast(0.8)},
		{"throughput with 10,000 open sessions and 1,000,000 past seats, while a dashboard reads all views each second",
			ratio(watched, older, throughput).inUnit(percent), atLeast(0.9)},
		{"views that could not be read", total(failedBeside, watched), atMost(0)},
		noFailures(young, older, old, large, watched),
	},
}

// The arms, by their names in the report.
const (
	young   = "young"
	older   = "older"
	old     = "old"
	large   = "large"
	watched = "older, beside a dashboard" // how long each view took is in the values of its runs
)

// installation is the size of an installation that has run for a while.
type installation struct {
	name      string
	sessions  int // open
	pastSeats int
	hosts     int // with free seats, in addition to the few of a run
}

func growthArms(ctx context.Context, b *testbed) (arms []arm, err error) {
	for _, size := range choose(b.options,
		[]installation{{young, 100, 10_000, 0}, {older, 10_000, 1_000_000, 0}, {old, 100_000, 10_000_000, 0},
			{large, 100, 10_000, 10_000}},
		[]installation{{young, 34, 800, 0}, {older, 68, 1_600, 0}, {old, 340, 8_000, 0}, {large, 34, 800, 200}}) {
		at := b // the first has the laboratory of the experiment
		if size.name != young {
			if at, err = b.openOther(ctx, lab.Options{}); err != nil {
				return nil, err
			}
		}
		if err := at.prefill(ctx, size); err != nil {
			return nil, err
		}
		load := at.options.loadPrefilled(matchmake)
		arms = append(arms, at.director(lab.Web).arm(size.name, load))
		if size.name == older {
			beside, err := at.watch(ctx, at.director(lab.Web).arm(watched, load))
			if err != nil {
				return nil, err
			}
			arms = append(arms, beside)
		}
	}
	return arms, nil
}

const (
	pastDays    = 30 // the default retention of history
	pastPlayers = 8  // per session
)

// prefill fills the database to the size of an installation, and vacuums and analyzes it.
func (b *testbed) prefill(ctx context.Context, size installation) error {
	b.options.say("planting %d open sessions and %d past seats", size.sessions, size.pastSeats)
	return inTurn(ctx,
		b.script("growth_sessions.sql", prefilledRegion, size.sessions),
		b.script("growth_hosts.sql", prefilledRegion, size.hosts), b.script("growth_days.sql"),
		func(ctx context.Context) error {
			// Two days at a time are filled, each in its own partition.
			return bench.Concurrently(ctx, pastDays, 2, func(ctx context.Context, daysAgo int) error {
				return b.sql(ctx, "growth_past.sql", prefilledRegion, daysAgo, size.pastSeats/pastPlayers/pastDays)
			})
		}, b.settle)
}

// watch lets a dashboard read all views beside an arm.
func (b *testbed) watch(ctx context.Context, a arm) (arm, error) {
	config := b.pool.Config() // a copy
	config.MaxConns = 1
	maps.Copy(config.ConnConfig.RuntimeParams, map[string]string{ // as in ops/grants.sql
		"application_name": "dashboard", "statement_timeout": "5s", "lock_timeout": "1s",
		"default_transaction_read_only": "on", "jit": "off",
	})
	dashboard, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return a, err
	}
	b.closers = append(b.closers, func() error { dashboard.Close(); return nil })
	views, err := b.views(ctx)
	return a.callBeside(ctx, time.Second, views, func(ctx context.Context, view string) error {
		_, err := dashboard.Exec(ctx, "SELECT * FROM ops."+pgx.Identifier{view}.Sanitize()+" LIMIT 1000")
		return err
	}), err
}

// views are the names of the views of schema ops.
func (b *testbed) views(ctx context.Context) ([]string, error) {
	rows, _ := b.pool.Query(ctx, // the rows have its error
		"SELECT table_name::text FROM information_schema.views WHERE table_schema = 'ops' ORDER BY table_name")
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
