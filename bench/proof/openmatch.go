package proof

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// One replica, durable Postgres, and the load with its match function and its Open Match director, all on one machine.
// 32 callers create tickets over 8 connections, first without and then with idle watchers. Then 10,000 tickets are
// queued, fetched in pairs, and each pair is assigned. 10,000 queued tickets are also queried, and the caller counts
// them without decoding. For the life of a ticket, players arrive at a fixed rate while a director fetches without a
// pause.
//
// The life of a ticket is measured again while a transaction that has written stays open. All tickets settled meanwhile
// are newer than it, so that a reader that starts at the oldest open transaction reads all of them each time.
//
// The echo is the same gRPC stack without database, access control and deadlines. A commit is an update of one row.
var openMatch = Experiment{
	Name: "openmatch", Title: "Open Match", Takes: "5 min", arms: openMatchArms,
	lab:   lab.Options{Env: []string{"DIRECTOR_OM_REGISTRATION=" + windowMillis + "ms"}},
	About: "Tickets queued, matched, assigned and watched, shown beside an echo of the same stack and single-row commits",
	// Rates are a second, times in ms, and a ratio of 1 is no effect. docs/performance.md has the times measured.
	claims: []claim{
		{"create: calls a second, of 32 callers over 8 connections", median(createAlone, throughput), atLeast(10_000)},
		{"create: p99", median(createAlone, p99), atMost(12)},
		{"10,000 queued: until all are matched and assigned, p50" + withWindow, median(fetchAll, p50),
			atMost(800)},
		{"QueryTickets of 10,000, until the last page has arrived: p50", median(queryAll, p50), atMost(40)},
		{"created until the assignment is seen" + withWindow + ": p50", median(lifeWindow, p50), atMost(400)},
		{"created until the assignment is seen, no window: p50", median(lifeNow, p50), atMost(30)},
		{"created until the assignment is seen, p50 with a forgotten writer, compared with none",
			ratio(lifeWriter, lifeWindow, p50), atMost(1.2)},
		{"create: p99 with idle watchers, compared with none", ratio(createWatch, createAlone, p99), atMost(1.6)},
		noFailures(createAlone, createWatch, fetchAll, queryAll, lifeWindow, lifeNow, lifeWriter),
	},
}

// windowMillis is the time in ms during which calls of FetchMatches can join a cycle, the collection window: the default
// of DIRECTOR_OM_REGISTRATION, and of Open Match.
const windowMillis = "250"

// withWindow ends the names of what is measured with a window.
const withWindow = ", window of " + windowMillis + " ms"

// The arms, by their names in the report.
const (
	echoCreate  = "create, echo"
	createAlone = "create"
	createWatch = "create, with idle watchers"
	fetchAll    = "fetch and assign all"
	queryAll    = "query all"
	lifeWindow  = "ticket life" + withWindow
	lifeNow     = "ticket life, no window"
	lifeWriter  = "ticket life" + withWindow + ", with a forgotten writer"
)

// openMatchArms starts two more processes: the echo, and a replica without a collection window in a universe of its
// own.
func openMatchArms(ctx context.Context, b *testbed) ([]arm, error) {
	echo, err := b.baselines(ctx, lab.GRPC)
	if err != nil {
		return nil, err
	}
	other, err := b.lab.Start(ctx, lab.Command{Name: "no-window", Args: []string{"serve"},
		Env: []string{"DIRECTOR_OM_REGISTRATION=0s", "DIRECTOR_OM_REGION=no-window"}})
	if err != nil {
		return nil, err
	}
	director, withoutWindow := b.director(lab.GRPC),
		side{bed: b, urls: []string{other.At(lab.GRPC)}, meter: b.lab.Meter(other)}
	load := func(scenario string) bench.Options { return b.options.loadUsual(scenario, 5*time.Second) }
	withWriter := director.arm(lifeWriter, load("ticket-life"))
	withWriter.beside = func(ctx context.Context) error { return b.hold(ctx, pgx.TxOptions{}, "write.sql") }
	return prepareEach([]arm{
		echo.arm(echoCreate, load("tickets")),
		b.inPostgres(commit, "commit", load("tickets")),
		director.arm(createAlone, load("tickets")),
		director.arm(createWatch, load("watch")),
		director.arm(fetchAll, b.options.loadUsual("fetch", 10*time.Second)), // most of it is spent on queuing
		director.arm(queryAll, load("query")),
		director.arm(lifeWindow, load("ticket-life")),
		withoutWindow.arm(lifeNow, load("ticket-life")),
		withWriter,
	}, b.script("openmatch_clean.sql")), nil
}
