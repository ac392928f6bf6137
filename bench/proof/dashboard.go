package proof

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// A closed loop of 64 callers places players in an installation with open sessions and past seats. Runs alternate
// between no dashboard and one dashboard: one connection, with the limits of dashboards in ops/grants.sql, that reads
// every view of schema ops once a second, up to a thousand rows of each.
//
// The rows of each run are deleted before the next, except for its history, which the views continue to show.
var dashboard = Experiment{
	Name: "dashboard", Title: "A dashboard", Takes: "2 min",
	About: "Whether a dashboard that reads all views of schema ops each second slows down placement",
	parts: inOneLab(lab.Options{}, dashboardArms), claims: dashboardClaims,
}

const (
	unwatched = "matchmake, unwatched"
	watched   = "matchmake, watched"
)

// dashboardArms fill the database once. How long each view took is in the values of a run.
func dashboardArms(ctx context.Context, b *testbed) ([]arm, error) {
	size := choose(b.options, installation{sessions: 10_000, pastSeats: 1_000_000},
		installation{sessions: 34, pastSeats: 800})
	if err := b.prefill(ctx, size); err != nil {
		return nil, err
	}
	var looks stopwatch
	load := b.options.loadPrefilled(matchmake)
	beside := b.arm(watched, b.director(lab.Web), load).
		beside(func(ctx context.Context) error { return b.readViews(ctx, &looks) }).
		finish(func(_ context.Context, r *bench.Result) error {
			for view, took := range looks.millis {
				r.Values["ms of "+view] = middle(took)
			}
			r.Values["unread"] = float64(looks.failed)
			return nil
		})
	return []arm{b.arm(unwatched, b.director(lab.Web), load).finish(b.deleteRun), beside.finish(b.deleteRun)}, nil
}

func dashboardClaims(Options) []claim {
	return []claim{
		{"throughput while a dashboard reads all views each second",
			ratio(watched, unwatched, throughput).inUnit(percent), atLeast(0.9)},
		{"views that could not be read", total(valueOf("unread", inFull), watched), atMost(0)},
		noFailures(watched, unwatched),
	}
}

// readViews reads all views once a second until ctx ends.
func (b *testbed) readViews(ctx context.Context, looks *stopwatch) error {
	conn, err := b.connectDashboard(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	views, err := viewsOf(ctx, conn)
	if err == nil {
		looks.repeat(ctx, time.Second, slices.Sorted(maps.Keys(views)), func(ctx context.Context, view string) error {
			_, err := conn.Exec(ctx, views[view])
			return err
		})
	}
	if ctx.Err() != nil { // the run is over, and has cancelled a reading
		return nil
	}
	return err
}

// connectDashboard connects with the limits of ops/grants.sql.
func (b *testbed) connectDashboard(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(b.lab.URL())
	if err != nil {
		return nil, err
	}
	maps.Copy(config.RuntimeParams, map[string]string{
		"application_name": "dashboard", "statement_timeout": "5s", "lock_timeout": "1s",
		"default_transaction_read_only": "on", "jit": "off",
	})
	return pgx.ConnectConfig(ctx, config)
}

// viewsOf are the statements that read the views of schema ops, by the name of the view.
func viewsOf(ctx context.Context, conn *pgx.Conn) (map[string]string, error) {
	rows, err := rowsOf[struct{ View, Statement string }](ctx, conn, "dashboard.sql")
	views := map[string]string{}
	for _, row := range rows {
		views[row.View] = row.Statement
	}
	return views, err
}
