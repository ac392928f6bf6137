package proof

import (
	"context"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// One replica, durable Postgres, and the load with its match function and its Open Match director, all on one machine.
// 32 callers create tickets over 8 connections, first without and then with idle watchers. Then 10,000 tickets are
// queued, fetched in pairs, and each pair is assigned. 10,000 queued tickets are also queried, and the caller counts
// them without decoding. For the life of a ticket, players arrive at a fixed rate while a director fetches without a
// pause.
//
// The echo is the same gRPC stack without database, access control and deadlines. A commit is an update of one row.
var openMatch = Experiment{
	Name: "openmatch", Title: "Open Match", Takes: "5 min",
	About: "Tickets queued, matched, assigned and watched, compared with an echo of the same stack and single-row commits",
	parts: inOneLab(lab.Options{}, openMatchArms), claims: openMatchClaims,
}

// The arms, by their names in the report.
const (
	echoCreate  = "create, echo"
	createAlone = "create"
	createWatch = "create, with idle watchers"
	fetchAll    = "fetch and assign all"
	queryAll    = "query all"
	echoQuery   = "query all, echo"
	lifeWindow  = "ticket life, window of 250 ms"
	lifeNow     = "ticket life, no window"
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
	director, withoutWindow := b.director(lab.GRPC), side{[]string{other.GRPC}, b.lab.Meter(other)}
	load := func(scenario string) bench.Options { return b.options.loadUsual(scenario, 5*time.Second) }
	return prepareEach([]arm{
		b.arm(echoCreate, echo, load("tickets")),
		b.commits(load("tickets")),
		b.arm(createAlone, director, load("tickets")),
		b.arm(createWatch, director, load("watch")),
		b.arm(fetchAll, director, b.options.loadUsual("fetch", 10*time.Second)), // most of it is spent on queuing
		b.arm(queryAll, director, load("query")),
		b.arm(echoQuery, echo, load("query")),
		b.arm(lifeWindow, director, load("ticket-life")),
		b.arm(lifeNow, withoutWindow, load("ticket-life")),
	}, b.script("openmatch_clean.sql"), b.settle), nil
}

// commitsFor is how long as many single-row commits take as there are tickets.
func commitsFor(tickets float64) measure {
	return medianOver(millis, func(r round) float64 { return tickets / r[commit].PerSecond * 1000 }, commit)
}

func openMatchClaims(o Options) []claim {
	waiting := float64(choose(o, 10_000, 100))
	many := inFull(waiting)
	watchers := figure{func(r bench.Result) float64 { return float64(r.Watchers) }, inFull}
	return []claim{
		{"create: calls a second", median(createAlone, throughput), atLeast(10_000),
			"32 callers over 8 connections; the echo %s, single-row commits %s; CPU of director and Postgres %s a call",
			args{median(echoCreate, throughput), median(commit, throughput), median(createAlone, cpu)}},
		{"create: p99", median(createAlone, p99), atMost(12),
			"p50 %s; of the echo p99 %s; of single-row commits p99 %s",
			args{median(createAlone, p50), median(echoCreate, p99), median(commit, p99)}},
		{many + " queued: until all are matched and assigned, p50", median(fetchAll, p50), atMost(800),
			"with a window of 250 ms; matched %s; %s single-row commits take %s",
			args{median(fetchAll, stepOf("matched", p50)), many, commitsFor(waiting)}},
		{"QueryTickets of " + many + ": p50", median(queryAll, p50), atMost(40),
			"until the last page has arrived; from an echo %s", args{median(echoQuery, p50)}},
		{"created until the assignment is seen, window of 250 ms: p50", median(lifeWindow, p50), atMost(400), "p99 %s",
			args{median(lifeWindow, p99)}},
		{"created until the assignment is seen, no window: p50", median(lifeNow, p50), atMost(30), "p99 %s",
			args{median(lifeNow, p99)}},
		{"create: p99 with idle watchers, compared with none", ratio(createWatch, createAlone, p99), atMost(1.6),
			"%s watchers; p99 %s, without them %s",
			args{median(createWatch, watchers), median(createWatch, p99), median(createAlone, p99)}},
		noFailures(createAlone, createWatch, fetchAll, queryAll, lifeWindow, lifeNow),
	}
}
