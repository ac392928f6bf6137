package proof

import (
	"context"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
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
	Run:   inOneLab(lab.Options{}, (*testbed).openMatchTrials, rounds.openMatchSection),
	About: "Tickets queued, matched, assigned and watched, compared with an echo of the same stack and single-row commits",
}

// The trials of a round, by their names in the report.
const (
	echoCreate  = "create, echo"
	createAlone = "create"
	createWatch = "create, with idle watchers"
	fetchAll    = "fetch and assign all"
	queryAll    = "query all"
	echoQuery   = "query all, echo"
	lifeWindow  = "ticket life, window of 250 ms"
	lifeNow     = "ticket life, no window"
	// crowdOfOM is the number of concurrent callers.
	crowdOfOM = 32
)

func (all rounds) openMatchSection(o Options) Section {
	creates := all.typical(echoCreate, createAlone, createWatch)
	others := all.typical(commit, fetchAll, queryAll, echoQuery, lifeWindow, lifeNow)
	return Section{
		Findings: all.openMatch(of(o, 10_000, 100)),
		Runs:     append(creates, others...),
	}
}

// openMatchTrials starts two more processes: the echo, and a replica without a collection window in a universe of its
// own.
func (b *testbed) openMatchTrials(ctx context.Context) ([]trial, error) {
	baselines, err := b.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	now, err := b.Start(ctx, lab.Command{Name: "no-window", Args: []string{"serve"},
		Env: []string{"DIRECTOR_OM_REGISTRATION=0s", "DIRECTOR_OM_REGION=no-window"}})
	if err != nil {
		return nil, err
	}
	echo := side{[]string{baselines[0].GRPC}, b.Meter(baselines...)}
	director := side{[]string{b.Replicas()[0].GRPC}, b.Lab}
	quick := side{[]string{now.GRPC}, b.Meter(now)}
	return b.withoutTickets(
		b.openMatch(echoCreate, echo, "tickets"),
		b.openMatchCommits(),
		b.openMatch(createAlone, director, "tickets"),
		b.openMatch(createWatch, director, "watch"),
		b.openMatch(fetchAll, director, "fetch"),
		b.openMatch(queryAll, director, "query"),
		b.openMatch(echoQuery, echo, "query"),
		b.openMatch(lifeWindow, director, "ticket-life"),
		b.openMatch(lifeNow, quick, "ticket-life"),
	), nil
}

// openMatch is a trial of one of the Open Match scenarios, with its usual load.
func (b *testbed) openMatch(name string, on side, scenario string) trial {
	return trial{name, func(ctx context.Context) (bench.Result, error) {
		usual := openmatch.Protocol.Usual(scenario)
		load := bench.Options{
			Protocol: openmatch.Protocol, Scenario: scenario, URLs: on.urls, Meter: on.meter, Callers: usual.Callers,
			Rate:   usual.Rate,
			WarmUp: of(b.options, time.Second, 0), Duration: of(b.options, 5*time.Second, 300*time.Millisecond),
			Tickets: of(b.options, 10_000, 100), Watchers: of(b.options, 5_000, 20), Leave: true,
		}
		if scenario == "fetch" {
			load.Duration *= 2 // most of it is spent on queuing
		}
		return bench.Run(ctx, load)
	}}
}

func (b *testbed) openMatchCommits() trial {
	return trial{commit, func(ctx context.Context) (bench.Result, error) {
		return baseline.Commits(ctx, b.URL(), crowdOfOM, of(b.options, time.Second, 50*time.Millisecond),
			of(b.options, 5*time.Second, 200*time.Millisecond))
	}}
}

// withoutTickets deletes the tickets that each trial has left, and vacuums.
func (b *testbed) withoutTickets(trials ...trial) (after []trial) {
	for _, t := range b.settled(trials...) {
		after = append(after, trial{t.name, func(ctx context.Context) (bench.Result, error) {
			if err := b.sql(ctx, "openmatch_clean.sql"); err != nil {
				return bench.Result{}, err
			}
			return t.run(ctx)
		}})
	}
	return after
}

// openMatch makes the findings of the rounds, in which that many tickets waited.
func (all rounds) openMatch(tickets int) []Finding {
	many := inFull(float64(tickets))
	return []Finding{
		all.creates(),
		noted(atMost("create: p99", all.of(createAlone, p99), 12, millis),
			"p50 %s; of the echo p99 %s; of single-row commits p99 %s",
			all.show(createAlone, p50, millis), all.show(echoCreate, p99, millis), all.show(commit, p99, millis)),
		noted(atMost(many+" queued: until all are matched and assigned, p50", all.of(fetchAll, p50), 800, millis),
			"with a window of 250 ms; matched %s; %s single-row commits take %s",
			all.show(fetchAll, stepOf("matched", p50), millis), many,
			millis(float64(tickets)/all.of(commit, throughput)*1000)),
		noted(atMost("QueryTickets of "+many+": p50", all.of(queryAll, p50), 40, millis),
			"until the last page has arrived; from an echo %s", all.show(echoQuery, p50, millis)),
		noted(atMost("created until the assignment is seen, window of 250 ms: p50", all.of(lifeWindow, p50), 400,
			millis), "p99 %s", all.show(lifeWindow, p99, millis)),
		noted(atMost("created until the assignment is seen, no window: p50", all.of(lifeNow, p50), 30, millis),
			"p99 %s", all.show(lifeNow, p99, millis)),
		all.idleWatchers(),
		all.failures(createAlone, createWatch, fetchAll, queryAll, lifeWindow, lifeNow),
	}
}

func (all rounds) creates() Finding {
	f := atLeast("create: calls a second", all.of(createAlone, throughput), 10_000, perSecond)
	return noted(f, "%d callers over 8 connections; the echo %s, single-row commits %s; CPU of director and Postgres %s a call",
		crowdOfOM, all.rate(echoCreate), all.rate(commit), all.show(createAlone, cpu, micros))
}

func (all rounds) idleWatchers() Finding {
	f := atMost("create: p99 with idle watchers, compared with none", all.compared(createWatch, createAlone, p99), 1.6,
		times)
	return noted(f, "%s watchers; p99 %s, without them %s", whole(all[0][createWatch].Watchers),
		all.show(createWatch, p99, millis), all.show(createAlone, p99, millis))
}
