package proof

import (
	"context"
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
	Name: "launch", Title: "Launch day", Takes: "3 min",
	About: "What a valve costs while it is open, and how many players a second get a place in the login queue",
	lab:   lab.Options{Worker: true}, arms: launchArms,
	claims: []claim{
		{"CPU of a matchmake with an open valve, compared with none", ratio(withOpen, withoutValve, cpu), atMost(1.05)},
		{"transactions of a matchmake with an open valve, compared with none",
			ratio(withOpen, withoutValve, transactions), atMost(1.05)},
		{"CPU of a matchmake that takes an admission first, compared with none",
			ratio(withRoom, withoutValve, cpu), atMost(2)},
		noFailures(inRush),
		{"players a second who get a place during the rush", median(inRush, throughput), atLeast(1000)},
		{"Postgres's part of all CPUs during the rush", median(inRush, shareOfAll), atMost(0.7)},
		{"Postgres gives places to the 50,000 players of a second, 4,096 at a time", median(inSQL, duration), atMost(1)},
	},
}

// The arms, by their names in the report.
const (
	withoutValve = "matchmake, no valve"
	withOpen     = "matchmake, open valve"
	withRoom     = "matchmake, valve with room"
	inRush       = "login queue, rush"
	inSQL        = "places of a crowd"
)

const (
	loginQueue  = "login-queue"
	rushCallers = 1024
	crowdSize   = 50_000 // arrivals of a second
	crowdBatch  = 4096
)

// launchArms each set their valve first.
func launchArms(_ context.Context, b *testbed) ([]arm, error) {
	load, rush := b.options.loadPrefilled(matchmake), b.options.loadPrefilled(loginQueue)
	rush.Load.Callers = rushCallers
	director := b.director(lab.Web)
	valved := func(name, valve string, load bench.Options) arm {
		a := director.arm(name, load)
		a.preparation = append(a.preparation, b.script(valve), heedValve)
		return a
	}
	return []arm{
		valved(withoutValve, "launch_none.sql", load), valved(withOpen, "launch_open.sql", load),
		valved(withRoom, "launch_room.sql", load), valved(inRush, "launch_rush.sql", rush),
		{name: inSQL, on: director, run: b.placeCrowd, preparation: []step{b.script("launch_rush.sql")}},
	}, nil
}

// heedValve waits for longer than replicas take to heed a valve that was changed.
func heedValve(ctx context.Context) error { return bench.Pause(ctx, 3*time.Second) }

// placeCrowd lets Postgres give places to the players of a second. Its latency is the time that this takes.
func (b *testbed) placeCrowd(ctx context.Context) (bench.Result, error) {
	players, start := choose(b.options, crowdSize, 100), time.Now()
	for first := 0; first < players; first += crowdBatch {
		if err := b.sql(ctx, "launch_crowd.sql", first, min(first+crowdBatch, players)-1); err != nil {
			return bench.Result{}, err
		}
	}
	return bench.ResultOf(inSQL, players, time.Since(start)), nil
}

// shareOfAll is Postgres's part of all CPUs.
var shareOfAll = figure{func(r bench.Result) float64 {
	return coresOf(postgresCPU).read(r) / float64(runtime.NumCPU())
}, percent}
