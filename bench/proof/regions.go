package proof

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/bench/lab"
)

// The same 256 callers, one replica and 16 game servers; players are spread evenly over regions and modes. All modes of
// a region are decided in one transaction, in turn. A call therefore has the same share of a transaction with 16 modes
// as with one; only more regions make more transactions. Only transactions that have written are counted.
//
// Then nine calls in ten are for one of 16 modes. A player of another mode should not wait longer than when all modes
// get equal shares.
var regions = Experiment{
	Name: "regions", Title: "Many regions and modes", Takes: "2 min", arms: regionsArms, claims: regionsClaims,
	About: "Whether transactions grow with regions and not with modes in them, and whether a hot mode starves the others",
}

// manyPlaces is the number of regions, or of modes, where an experiment compares many with one.
const manyPlaces = 16

// armOf names an arm after its number of regions and modes.
func armOf(regions, modes int) string { return fmt.Sprintf("%d × %d", regions, modes) }

const hotMode = "a hot mode"

// regionsArms are each number of regions with each number of modes, and the hot mode.
func regionsArms(_ context.Context, b *testbed) (arms []arm, err error) {
	director, run := b.director(lab.Web), b.options.load(matchmake, choose(b.options, manyCallers, 16))
	run.Load.Instances = manyPlaces
	for _, run.Load.Regions = range []int{1, manyPlaces} {
		for _, run.Load.Modes = range []int{1, manyPlaces} {
			arms = append(arms, director.arm(armOf(run.Load.Regions, run.Load.Modes), run))
		}
	}
	run.Load.Regions, run.Load.Modes, run.Load.HotShare = 1, manyPlaces, 0.9
	return append(arms, director.arm(hotMode, run)), nil
}
func regionsClaims(Options) []claim {
	const noise = 1.2 // by how much equal figures may differ
	one, modes, places := armOf(1, 1), armOf(1, manyPlaces), armOf(manyPlaces, manyPlaces)
	others := stepOf("matchmake, others", p99)
	return []claim{
		{"transactions a call with 16 modes in a region, compared with one mode", ratio(modes, one, transactions),
			atMost(noise)},
		{"transactions a call with 16 modes in each of 16 regions, compared with one mode in each",
			ratio(places, armOf(manyPlaces, 1), transactions), atMost(noise)},
		{"transactions a call with 16 regions of 16 modes, compared with one of each", ratio(places, one, transactions),
			atMost(manyPlaces * noise)},
		{"p99 of the other modes while one mode is hot, compared with equal modes",
			medianOver(times, func(r round) float64 { return others.read(r[hotMode]) / p99.read(r[modes]) }, hotMode,
				modes), atMost(1.5)},
	}
}
