package proof

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
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
	Name: "dashboard", Title: "A dashboard", Takes: "2 min", Run: runDashboard,
	About: "Whether a dashboard that reads all views of schema ops each second slows down placement",
}

const (
	unwatched = "matchmake, unwatched"
	watched   = "matchmake, watched"
)

func runDashboard(ctx context.Context, o Options) (Section, error) {
	var all rounds
	looks := looks{took: map[string][]float64{}}
	err := o.in(ctx, lab.Options{}, func(ctx context.Context, b *testbed) (err error) {
		if err := b.prefill(ctx, of(o, installation{sessions: 10_000, past: 1_000_000},
			installation{sessions: 34, past: 800})); err != nil {
			return err
		}
		load := o.load(matchmake)
		alone, beside := b.trial(unwatched, b.director(), load), b.trial(watched, b.director(), load)
		beside.run = b.beside(&looks, beside.run)
		all, err = o.measure(ctx, b.cleaned(alone), b.cleaned(beside))
		return err
	})
	if err != nil {
		return Section{}, err
	}
	return Section{Findings: all.dashboard(&looks),
		Runs: all.typical(unwatched, watched)}, nil
}

func (all rounds) dashboard(looks *looks) []Finding {
	return []Finding{
		noted(atLeast("throughput while a dashboard reads all views each second",
			all.compared(watched, unwatched, throughput), 0.9, percent),
			"%s watched, %s unwatched. Milliseconds that views took, in the median: %s", all.rate(watched),
			all.rate(unwatched), looks),
		atMost("views that could not be read", float64(looks.failed), 0, inFull),
		all.failures(watched, unwatched),
	}
}

// looks are the times that it took to read each view, and the number of failures.
type looks struct {
	took   map[string][]float64 // milliseconds
	failed int
}

// String lists the medians, longest first.
func (l *looks) String() string {
	medians := map[string]float64{}
	for view, took := range l.took {
		medians[view] = median(took)
	}
	views := slices.SortedFunc(maps.Keys(medians), func(a, b string) int { return cmp.Compare(medians[b], medians[a]) })
	for i, view := range views {
		views[i] = fmt.Sprintf("%s %.0f", view, medians[view])
	}
	return strings.Join(views, ", ")
}

// beside wraps a run during which a dashboard reads all views once a second.
func (b *testbed) beside(looks *looks, run func(context.Context) (bench.Result, error)) func(context.Context) (bench.Result, error) {
	return func(ctx context.Context) (result bench.Result, err error) {
		looking, stop := context.WithCancel(ctx)
		var failed error
		var reader sync.WaitGroup
		reader.Go(func() { failed = b.look(looking, looks) })
		result, err = run(ctx)
		stop()
		reader.Wait()
		return result, cmp.Or(err, failed)
	}
}

// look reads all views once a second until ctx ends.
func (b *testbed) look(ctx context.Context, looks *looks) error {
	conn, err := b.asDashboard(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	views, err := viewsOf(ctx, conn)
	for ticks := time.NewTicker(time.Second); err == nil && ctx.Err() == nil; {
		looks.at(ctx, conn, views)
		select {
		case <-ctx.Done():
			ticks.Stop()
		case <-ticks.C:
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// asDashboard connects with the limits of ops/grants.sql.
func (b *testbed) asDashboard(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(b.URL())
	if err != nil {
		return nil, err
	}
	maps.Copy(config.RuntimeParams, map[string]string{
		"application_name": "dashboard", "statement_timeout": "5s", "lock_timeout": "1s",
		"default_transaction_read_only": "on", "jit": "off",
	})
	return pgx.ConnectConfig(ctx, config)
}

// view is a view of schema ops.
type view struct{ View, Statement string }

//go:embed dashboard.sql
var allViews string

func viewsOf(ctx context.Context, conn *pgx.Conn) ([]view, error) {
	rows, err := conn.Query(ctx, allViews)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[view])
}

// at reads each view once.
func (l *looks) at(ctx context.Context, conn *pgx.Conn, views []view) {
	for _, v := range views {
		begun := time.Now()
		rows, err := conn.Query(ctx, v.Statement)
		if err == nil {
			rows.Close() // which reads them all
			err = rows.Err()
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.failed++
		default:
			l.took[v.View] = append(l.took[v.View], float64(time.Since(begun))/float64(time.Millisecond))
		}
	}
}
