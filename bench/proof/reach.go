package proof

import (
	"context"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
)

// One replica, durable Postgres, and the load, on one machine. In each round all trials take turns, each a
// closed loop of 256 callers or of one, after Postgres has vacuumed the rows of the trial before.
//
// The no-op is the same HTTP stack with JSON and authentication, without the database. The cost of a call beyond it is
// the CPU of the director and of Postgres together, less that of the no-op. The naive placement has the same stack and
// the same tables: each call has a transaction of its own, with SKIP LOCKED.
var reach = Experiment{
	Name: "reach", Title: "Reach", Takes: "3 min",
	Run:   inOneLab(lab.Options{}, (*testbed).reachTrials, rounds.reachSection),
	About: "The cost of calls beyond the no-op, and placement compared with a naive one",
}

// manyCallers is the number of concurrent callers where the experiment is about load.
const manyCallers = 256

// The trials of a round, by their names in the report.
const (
	noOp               = "no-op"
	matchmake          = "matchmake"
	naiveMatchmake     = "naive matchmake"
	resolve            = "resolve"
	fleetNoOp          = "fleet no-op"
	heartbeat          = "heartbeat"
	commit             = "single-row commit"
	loneMatchmake      = "matchmake, alone"
	naiveLoneMatchmake = "naive matchmake, alone"
)

func (all rounds) reachSection(Options) Section {
	many := all.typical(noOp, matchmake, naiveMatchmake, resolve, fleetNoOp, heartbeat)
	return Section{
		Findings: all.reach(),
		Runs:     append(many, all.typical(commit, loneMatchmake, naiveLoneMatchmake)...),
	}
}

func (b *testbed) reachTrials(ctx context.Context) ([]trial, error) {
	naive, err := b.naive(ctx)
	director := b.director()
	by := func(callers int, scenario string) bench.Options {
		return bench.Options{
			Scenario: scenario, Callers: callers, Instances: of(b.options, 16, 2),
			WarmUp:   of(b.options, time.Second, 50*time.Millisecond),
			Duration: of(b.options, 4*time.Second, 200*time.Millisecond),
		}
	}
	many := of(b.options, manyCallers, 8)
	heartbeats := by(many, heartbeat)
	heartbeats.Instances = many
	return b.settled(
		b.trial(noOp, naive, by(many, "noop")),
		b.trial(matchmake, director, by(many, matchmake)),
		b.trial(naiveMatchmake, naive, by(many, matchmake)),
		b.trial(resolve, director, by(many, resolve)),
		b.trial(fleetNoOp, naive, by(many, "fleet-noop")),
		b.trial(heartbeat, director, heartbeats),
		b.commits(by(many, "")),
		b.trial(loneMatchmake, director, by(1, matchmake)),
		b.trial(naiveLoneMatchmake, naive, by(1, matchmake)),
	), err
}

func (b *testbed) commits(o bench.Options) trial {
	return trial{commit, func(ctx context.Context) (bench.Result, error) {
		return baseline.Commits(ctx, b.URL(), o.Callers, o.WarmUp, o.Duration)
	}}
}

// reach makes the findings of the rounds.
func (all rounds) reach() []Finding {
	ours := []string{matchmake, resolve, heartbeat, loneMatchmake}
	return []Finding{
		all.beyond("matchmake: CPU a call beyond the no-op", matchmake, noOp, 60),
		all.beyond("resolve: CPU a call beyond the no-op", resolve, noOp, 80),
		all.beyond("heartbeat: CPU a call beyond the no-op", heartbeat, fleetNoOp, 30),
		all.throughput(),
		all.share(),
		all.alone(),
		noted(atMost("calls that failed", float64(all.sum(failed, ours...)), 0, inFull),
			"of the naive placement: %d", all.sum(failed, naiveMatchmake, naiveLoneMatchmake)),
	}
}

// beyond makes the finding about what a call costs in addition to the stack around it.
func (all rounds) beyond(claim, name, nothing string, limit float64) Finding {
	f := atMost(claim, all.median(func(r round) float64 { return cpu(r[name]) - cpu(r[nothing]) }), limit, micros)
	return noted(f, "a whole call %s, the no-op %s; %s", all.show(name, cpu, micros), all.show(nothing, cpu, micros),
		all.rate(name))
}

func (all rounds) throughput() Finding {
	f := atLeast("matchmake: calls a second, compared with the naive placement",
		all.compared(matchmake, naiveMatchmake, throughput), 3, times)
	return noted(f, "matchmake %s, naive %s; no-op %s, single-row commits %s", all.rate(matchmake),
		all.rate(naiveMatchmake), all.rate(noOp), all.rate(commit))
}

// share makes the finding about whole calls, the stack included: they determine how long players wait and how many
// machines a title needs.
func (all rounds) share() Finding {
	f := atMost("matchmake: CPU a placement, compared with the naive one",
		all.compared(matchmake, naiveMatchmake, cpuPerPlacement), 1.0/3, times)
	beyond := all.median(func(r round) float64 {
		return (cpuPerPlacement(r[matchmake]) - cpu(r[noOp])) / (cpuPerPlacement(r[naiveMatchmake]) - cpu(r[noOp]))
	})
	return noted(f, "whole calls are judged, with the stack that both share; without the no-op's share it is %s. A naive placement %s",
		measured(beyond, times), all.show(naiveMatchmake, cpuPerPlacement, micros))
}

func (all rounds) alone() Finding {
	f := atMost("a lone caller's p50, compared with the naive placement's",
		all.compared(loneMatchmake, naiveLoneMatchmake, p50), 1.3, times)
	return noted(f, "matchmake %s, naive %s", all.show(loneMatchmake, p50, millis),
		all.show(naiveLoneMatchmake, p50, millis))
}

// cpuPerPlacement is the CPU for each successful call: that of failed calls is wasted.
func cpuPerPlacement(r bench.Result) float64 {
	return cpu(r) * float64(r.Calls) / float64(r.Calls-r.Failed)
}
