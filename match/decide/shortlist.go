package decide

import (
	"cmp"
	"math"
	"slices"
)

// shortlist keeps those of the added candidates that a search for a ticket would try first, as choices does, in bounded
// memory.
type shortlist struct {
	choiceOrder choices // only for its plan, seed and order of preference
	maxKept     int
	list        []listedCandidate
	isPartial   bool // candidates were left out
}

// listedCandidate is a candidate of a shortlist.
type listedCandidate struct {
	c             *candidate
	fitsNow       bool // it can be in a match with the ticket now, not only after both have waited longer
	pivotDistance float64
}

func newShortlist(seed *candidate, pl *plan, maxKept int) shortlist {
	return shortlist{choiceOrder: choices{plan: pl, seed: seed}, maxKept: maxKept}
}

// addListed adds a candidate.
func (l *shortlist) addListed(c *candidate, fitsNow bool) {
	seed, distance := l.choiceOrder.seed, 0.0
	if l.choiceOrder.plan.pivot.numberColumn >= 0 {
		distance = math.Abs(c.pivotKey - seed.pivotKey)
	}
	l.list = append(l.list, listedCandidate{c, fitsNow, distance})
	// The list is sorted only when it has twice as many as are kept, so that sorting costs little for each candidate.
	if len(l.list) >= 2*l.maxKept {
		l.dropExcess()
	}
}

// compareListed orders as the search for the ticket does: nearest first, or as the profile says.
func (l *shortlist) compareListed(a, b listedCandidate) int {
	if a.fitsNow != b.fitsNow {
		return trueFirst(a.fitsNow, b.fitsNow)
	}
	if len(l.choiceOrder.plan.orderCriteria) == 0 {
		return cmp.Or(cmp.Compare(a.pivotDistance, b.pivotDistance), byTurn(a.c, b.c))
	}
	return l.choiceOrder.comparePreferred(a.c, b.c)
}

// dropExcess drops candidates beyond maxKept. Half of the places are for the first of each kind: sixty players of one
// role nearby must not hide the only player of another.
func (l *shortlist) dropExcess() {
	slices.SortFunc(l.list, l.compareListed)
	if len(l.list) <= l.maxKept {
		return
	}
	l.isPartial = true
	kinds := map[kind]struct{}{}
	for _, e := range l.list {
		kinds[e.c.kind] = struct{}{}
	}
	share := max(1, l.maxKept/(2*len(kinds))) // places of each kind
	otherPlaces := l.maxKept / 2              // for anybody
	keptByKind := map[kind]int{}
	kept := l.list[:0]
	for _, e := range l.list {
		switch {
		case keptByKind[e.c.kind] < share && len(kept) < l.maxKept:
			keptByKind[e.c.kind]++
		case otherPlaces > 0:
			otherPlaces--
		default:
			continue
		}
		kept = append(kept, e)
	}
	clear(l.list[len(kept):]) // else the array keeps the tickets that were dropped in memory
	l.list = kept
}

// keptCandidates drops the excess, and returns the candidates that are kept in order of preference.
func (l *shortlist) keptCandidates() []*candidate {
	l.dropExcess()
	all := make([]*candidate, len(l.list))
	for i, e := range l.list {
		all[i] = e.c
	}
	return all
}

// byAgeOf returns a copy of a list, oldest first.
func byAgeOf(list []*candidate) []*candidate {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, byAge)
	return sorted
}
