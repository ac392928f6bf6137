package decide

import (
	"cmp"
	"math"
	"slices"
)

// shortlist keeps those of the added candidates that a search for a ticket would try first, as choices does, in bounded
// memory.
type shortlist struct {
	choiceOrder choices // of preference
	maxKept     int
	list        []listed
	isPartial   bool // some were left out
}

type listed struct {
	c             *candidate
	fitsNow       bool // it can be in a match with the ticket now, not only after they have waited longer
	pivotDistance float64
}

func newShortlist(seed *candidate, pl *plan, limit int) shortlist {
	return shortlist{choiceOrder: choices{plan: pl, seed: seed}, maxKept: limit}
}

func (l *shortlist) addListed(c *candidate, now bool) {
	seed, distance := l.choiceOrder.seed, 0.0
	if l.choiceOrder.plan.pivot.numberColumn >= 0 {
		distance = math.Abs(c.pivotKey - seed.pivotKey)
	}
	l.list = append(l.list, listed{c, now, distance})
	// Sorted only at twice as many as are kept: once in maxKept times, so that each candidate costs a constant time.
	if len(l.list) >= 2*l.maxKept {
		l.dropExcess()
	}
}

// compareListed orders as the search for the ticket does: nearest first, or as the profile says.
func (l *shortlist) compareListed(a, b listed) int {
	if a.fitsNow != b.fitsNow {
		return trueFirst(a.fitsNow, b.fitsNow)
	}
	if len(l.choiceOrder.plan.orderCriteria) == 0 {
		return cmp.Or(cmp.Compare(a.pivotDistance, b.pivotDistance), byTurn(a.c, b.c))
	}
	return l.choiceOrder.comparePreferred(a.c, b.c)
}

// dropExcess drops candidates beyond the limit. Half of the places are for the first of each kind: sixty damage dealers
// nearby must not hide the only healer.
func (l *shortlist) dropExcess() {
	slices.SortFunc(l.list, l.compareListed)
	if len(l.list) <= l.maxKept {
		return
	}
	l.isPartial = true
	kinds := map[kind]int{}
	for _, e := range l.list {
		kinds[e.c.kind]++
	}
	share, others := max(1, l.maxKept/(2*len(kinds))), l.maxKept/2
	clear(kinds)
	kept := l.list[:0]
	for _, e := range l.list {
		switch {
		case kinds[e.c.kind] < share && len(kept) < l.maxKept:
			kinds[e.c.kind]++
		case others > 0:
			others--
		default:
			continue
		}
		kept = append(kept, e)
	}
	clear(l.list[len(kept):]) // else the array keeps the tickets that were dropped in memory
	l.list = kept
}

// keptCandidates returns those that are kept, in order of preference.
func (l *shortlist) keptCandidates() []*candidate {
	l.dropExcess()
	all := make([]*candidate, len(l.list))
	for i, e := range l.list {
		all[i] = e.c
	}
	return all
}

func byAgeOf(list []*candidate) []*candidate {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, byAge)
	return sorted
}
