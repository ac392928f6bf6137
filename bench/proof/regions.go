package proof

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// The same 256 callers, one replica and 16 game servers; players are spread evenly over regions and modes. All modes of
// a region are decided in one transaction, in turn. A call therefore has the same share of a transaction with 16 modes
// as with one; only more regions make more transactions. Only transactions that have written are counted.
//
// Then nine calls in ten are for one of 16 modes. A player of another mode should not wait longer than when all modes
// get equal shares.
var regions = Experiment{
	Name: "regions", Title: "Many regions and modes", Takes: "2 min",
	Run:   inOneLab(lab.Options{}, (*testbed).spreads, rounds.regionsSection),
	About: "Whether transactions grow with regions and not with modes in them, and whether a hot mode starves the others",
}

// wide is the number of regions, or of modes, where an experiment compares many with one.
const wide = 16

// spread names a trial after its number of regions and modes.
func spread(regions, modes int) string { return fmt.Sprintf("%d × %d", regions, modes) }

const hot = "a hot mode"

// noise is by how much equal figures may differ.
const noise = 1.2

func (all rounds) regionsSection(Options) Section {
	runs := all.typical(spread(1, 1), spread(1, wide), spread(wide, 1), spread(wide, wide), hot)
	return Section{
		Findings: all.regions(),
		Runs:     runs,
	}
}

func (b *testbed) spreads(context.Context) (trials []trial, err error) {
	load := bench.Options{
		Scenario: matchmake, Callers: of(b.options, manyCallers, 16), Instances: wide,
		WarmUp:   of(b.options, time.Second, 50*time.Millisecond),
		Duration: of(b.options, 4*time.Second, 200*time.Millisecond),
	}
	for _, load.Regions = range []int{1, wide} {
		for _, load.Modes = range []int{1, wide} {
			trials = append(trials, b.trial(spread(load.Regions, load.Modes), b.director(), load))
		}
	}
	load.Regions, load.Modes, load.HotShare = 1, wide, 0.9
	return b.settled(append(trials, b.trial(hot, b.director(), load))...), nil
}

func (all rounds) regions() []Finding {
	return []Finding{
		all.transactions("16 modes in a region", spread(1, wide), spread(1, 1), noise),
		all.transactions("16 modes in each of 16 regions", spread(wide, wide), spread(wide, 1), noise),
		all.transactions("16 regions with 16 modes", spread(wide, wide), spread(1, 1), wide*noise),
		all.starving(),
	}
}

// transactions makes the finding about transactions per call.
func (all rounds) transactions(claim, many, few string, limit float64) Finding {
	every := func(r bench.Result) float64 { return transactions(r) * r.PerSecond }
	f := atMost(claim+": transactions a call, compared with "+few, all.compared(many, few, transactions), limit, times)
	return noted(f, "%s: %.4f a call, %s at %s calls; %s: %.4f a call, %s at %s calls",
		many, all.of(many, transactions), all.show(many, every, perSecond), all.rate(many), few,
		all.of(few, transactions), all.show(few, every, perSecond), all.rate(few))
}

// starving makes the finding about how long players of the other modes wait.
func (all rounds) starving() Finding {
	slow := all.median(func(r round) float64 { return stepOf(others, p99)(r[hot]) / p99(r[spread(1, wide)]) })
	f := atMost("p99 of the other modes while one mode is hot, compared with equal modes", slow, 1.5, times)
	return noted(f, "other modes %s, the hot mode %s, equal modes %s",
		all.show(hot, stepOf(others, p99), millis), all.show(hot, stepOf(hottest, p99), millis),
		all.show(spread(1, wide), p99, millis))
}

// The steps of a run with a hot mode, as package bench names them.
const (
	hottest = "matchmake, hot mode"
	others  = "matchmake, others"
)
