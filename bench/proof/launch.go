package proof

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// New players ask for a seat while there is no valve, while there is one that is open, and while one limits but admits
// everybody. Then as many players as the machine carries come at a valve that admits 100 a second: each gets a place in
// the login queue. Calls that answer 5xx or nothing count as failed. Last, the same is done without the director, as a
// simulation of what many replicas send: the places of 50,000 players, which is a second of a large launch, in the
// batches of 4,096 in which replicas send them, from one connection after the other.
//
// The load runs on the same machine and takes its part of the CPU.
var launch = Experiment{
	Name: "launch", Title: "Launch day", Takes: "3 min", Run: runLaunch,
	About: "What a valve costs while it is open, and how many players a second get a place in the login queue",
}

// The trials of a round, by their names in the report.
const (
	withoutValve = "matchmake, no valve"
	withOpen     = "matchmake, open valve"
	withRoom     = "matchmake, valve with room"
	rushed       = "login queue, rush"
)

const (
	loginQueue    = "login-queue"
	rushCallers   = 1024
	crowdSize     = 50_000 // arrivals of a second
	crowdBatch    = 4096
	postgresShare = 0.7 // most of the CPUs that Postgres may use
)

func runLaunch(ctx context.Context, o Options) (Section, error) {
	var all rounds
	var crowds []float64 // seconds
	err := o.in(ctx, lab.Options{Worker: true}, func(ctx context.Context, b *testbed) (err error) {
		all, err = o.measure(ctx, b.settled(b.launchTrials()...)...)
		for range max(o.Rounds, 1) {
			if err == nil {
				var took time.Duration
				took, err = b.crowd(ctx, of(o, crowdSize, 100))
				crowds = append(crowds, took.Seconds())
			}
		}
		return err
	})
	if err != nil {
		return Section{}, err
	}
	runs := all.typical(withoutValve, withOpen, withRoom, rushed)
	return Section{Findings: all.launch(median(crowds)), Runs: runs}, nil
}

func (b *testbed) launchTrials() []trial {
	load, rush := b.options.load(matchmake), b.options.load(loginQueue)
	rush.Callers = of(b.options, rushCallers, 8)
	return []trial{
		b.valved(withoutValve, "launch_none.sql", load), b.valved(withOpen, "launch_open.sql", load),
		b.valved(withRoom, "launch_room.sql", load), b.valved(rushed, "launch_rush.sql", rush),
	}
}

// valved makes a trial that begins when the replicas heed a valve.
func (b *testbed) valved(name, valve string, load bench.Options) trial {
	run := b.cleaned(b.trial(name, b.director(), load)).run
	return trial{name, func(ctx context.Context) (bench.Result, error) {
		if err := b.sql(ctx, valve); err != nil {
			return bench.Result{}, err
		}
		if err := wait(ctx, heedTime); err != nil {
			return bench.Result{}, err
		}
		return run(ctx)
	}}
}

// heedTime is more than replicas take to heed a valve that was changed.
const heedTime = 3 * time.Second

// crowd returns how long Postgres takes to give places to so many new players.
func (b *testbed) crowd(ctx context.Context, players int) (time.Duration, error) {
	if err := b.sql(ctx, "launch_rush.sql"); err != nil {
		return 0, err
	}
	if err := b.sql(ctx, "settle.sql"); err != nil {
		return 0, err
	}
	began := time.Now()
	for first := 0; first < players; first += crowdBatch {
		if err := b.sql(ctx, "launch_crowd.sql", first, min(first+crowdBatch, players)-1); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// launch makes the findings of the rounds.
func (all rounds) launch(crowd float64) []Finding {
	share := func(r bench.Result) float64 {
		if r.Costs == nil {
			return math.NaN()
		}
		return r.Costs.PostgresMicros * r.PerSecond / 1e6 / float64(runtime.NumCPU())
	}
	return []Finding{
		noted(atMost("CPU of a matchmake with an open valve, compared with none",
			all.compared(withOpen, withoutValve, cpu), 1.05, times),
			"%s, with none %s", all.show(withOpen, cpu, micros), all.show(withoutValve, cpu, micros)),
		noted(atMost("transactions of a matchmake with an open valve, compared with none",
			all.compared(withOpen, withoutValve, transactions), 1.05, times),
			"a call with none %.4f", all.of(withoutValve, transactions)),
		noted(atMost("CPU of a matchmake that takes an admission first, compared with none",
			all.compared(withRoom, withoutValve, cpu), 2, times),
			"%s", all.show(withRoom, cpu, micros)),
		all.failures(rushed),
		noted(atLeast("players a second who get a place during the rush", all.of(rushed, throughput), 1000, perSecond),
			"%s players a second got a place, p99 %s; director %s and Postgres %s of CPU a player", all.rate(rushed),
			all.show(rushed, p99, millis),
			all.show(rushed, func(r bench.Result) float64 { return cpu(r) - postgresCPU(r) }, micros),
			all.show(rushed, postgresCPU, micros)),
		noted(atMost("Postgres's part of all CPUs during the rush", all.of(rushed, share), postgresShare, percent),
			"%d CPUs", runtime.NumCPU()),
		noted(atMost(fmt.Sprintf("seconds in which Postgres gives places to the %s players of a second",
			inFull(crowdSize)), crowd, 1,
			func(v float64) string { return fmt.Sprintf("%.2f s", v) }), "in batches of %s", inFull(crowdBatch)),
	}
}

// postgresCPU is the CPU of Postgres a call, in µs; NaN where it cannot be measured.
func postgresCPU(r bench.Result) float64 {
	if r.Costs == nil {
		return math.NaN()
	}
	return r.Costs.PostgresMicros
}
