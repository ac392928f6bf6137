package proof

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// 256 callers in a closed loop request seats from three replicas, in sessions for eight players. All players would fit
// into the least number of sessions; each further session is a match that is not full, on a server that costs money.
// Sessions are counted in the database; of each shape (region, mode and size) the session that is still being filled is
// not counted.
var packing = Experiment{
	Name: "packing", Title: "Full sessions", Takes: "1 min", Run: runPacking,
	About: "How full the sessions are that 256 callers fill over three replicas, compared with the naive placement",
}

// replicas is the number of replicas that place into the same sessions, where concurrency matters.
const replicas = 3

func runPacking(ctx context.Context, o Options) (Section, error) {
	var all rounds
	var p packer
	err := o.in(ctx, lab.Options{Replicas: replicas}, func(ctx context.Context, b *testbed) error {
		naive, err := b.naive(ctx)
		if err != nil {
			return err
		}
		p = packer{b, map[string][]fullness{}}
		all, err = o.measure(ctx, p.trial(matchmake, b.director()), p.trial(naiveMatchmake, naive))
		return err
	})
	if err != nil {
		return Section{}, err
	}
	runs := all.typical(matchmake, naiveMatchmake)
	return Section{Findings: p.findings(),
		Runs: runs}, nil
}

// packer records how full the sessions of each trial are.
type packer struct {
	testbed *testbed
	found   map[string][]fullness // by trial, one for each round
}

func (p packer) trial(name string, on side) trial {
	o := p.testbed.options
	load := p.testbed.trial(name, on, bench.Options{
		Scenario: matchmake, Callers: of(o, manyCallers, 16), Instances: of(o, 16, 2), Players: 8,
		Duration: of(o, 4*time.Second, 200*time.Millisecond),
	})
	return trial{name, func(ctx context.Context) (r bench.Result, err error) {
		if r, err = load.run(ctx); err != nil {
			return r, err
		}
		f, err := p.testbed.fullness(ctx, r.Run)
		p.found[name] = append(p.found[name], f)
		return r, err
	}}
}

// fullness says how well players were packed into sessions.
type fullness struct {
	Opened  int64 // sessions
	Filled  int64 // full sessions
	Counted int64 // sessions except the last of each shape, which was still being filled
	Least   int64 // the fewest sessions that hold all players
}

//go:embed packing.sql
var packed string

// fullness reads the sessions of a run that is over.
func (b *testbed) fullness(ctx context.Context, run string) (fullness, error) {
	rows, err := b.pool.Query(ctx, packed, "bench-"+run+"-")
	if err != nil {
		return fullness{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[fullness])
}

func (f fullness) share() float64 { return float64(f.Filled) / float64(f.Counted) }
func (f fullness) waste() float64 { return float64(f.Opened) / float64(f.Least) }

func (p packer) findings() []Finding {
	of := func(name string, what func(fullness) float64) float64 {
		var values []float64
		for _, f := range p.found[name] {
			values = append(values, what(f))
		}
		return median(values)
	}
	opened := func(f fullness) float64 { return float64(f.Opened) }
	least := func(f fullness) float64 { return float64(f.Least) }
	whole := inFull
	return []Finding{
		noted(atLeast("sessions that are full", of(matchmake, fullness.share), 0.99, percent),
			"of the naive placement: %s", measured(of(naiveMatchmake, fullness.share), percent)),
		noted(atMost("sessions opened, compared with the fewest possible", of(matchmake, fullness.waste), 1.01, times),
			"%s where %s would have done; the naive placement %s where %s would have done, %s",
			whole(of(matchmake, opened)), whole(of(matchmake, least)),
			whole(of(naiveMatchmake, opened)), whole(of(naiveMatchmake, least)),
			measured(of(naiveMatchmake, fullness.waste), times)),
	}
}
