package decide

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
)

// Input is everything that a decision depends on.
type Input struct {
	Version Version
	Tickets []*match.Ticket // in any order; those that are no candidates are left out
	Rosters []Roster
	Regions []Region
	Now     time.Time
	Seed    uint64
}

// Output is what was decided.
type Output struct {
	Proposals []Proposal // in the order in which they were found
	// Next is when time alone may change something; zero if it will not.
	Next time.Time
}

// Decide makes a whole decision. The same input always has the same output, in whatever order its lists are.
func Decide(in Input) Output {
	e := New(in.Version, in.Seed)
	e.SetRegions(in.Regions)
	// In one order: Add begins the sweep, on which Next depends, if the tickets that were added before may meet the
	// newcomer. Matches do not depend on the order.
	for _, t := range slices.SortedFunc(slices.Values(in.Tickets), compareAges) {
		e.Add(t)
	}
	for _, r := range in.Rosters {
		e.PutRoster(r)
	}
	var out Output
	out.Proposals, _ = e.Run(in.Now, math.MaxInt)
	out.Next, _ = e.Next()
	return out
}

// compareAges orders tickets, the oldest first, and those of one moment by their ids, so that no two are equal.
func compareAges(a, b *match.Ticket) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}
