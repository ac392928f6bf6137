package decide

import (
	"cmp"
	"math"
	"slices"
)

// shortlist keeps those of the added candidates that a search for a ticket would try first, as choices does, in bounded memory.
type shortlist struct {
	order   choices // of preference
	limit   int
	list    []listed
	partial bool // some were left out
}

type listed struct {
	c       *candidate
	now     bool // it can be in a match with the ticket now, not only after they have waited longer
	nearest float64
}

func newShortlist(seed *candidate, pl *plan, limit int) shortlist {
	return shortlist{order: choices{plan: pl, seed: seed}, limit: limit}
}

func (l *shortlist) add(c *candidate, now bool) {
	seed, distance := l.order.seed, 0.0
	if l.order.plan.pivot.column >= 0 {
		distance = math.Abs(c.key - seed.key)
	}
	l.list = append(l.list, listed{c, now, distance})
	if len(l.list) >= 2*l.limit {
		l.shorten()
	}
}

// prefer orders as the search for the ticket does: nearest first, or as the profile says.
func (l *shortlist) prefer(a, b listed) int {
	if a.now != b.now {
		return first(a.now, b.now)
	}
	if len(l.order.plan.order) == 0 {
		return cmp.Or(cmp.Compare(a.nearest, b.nearest), byTurn(a.c, b.c))
	}
	return l.order.prefer(a.c, b.c)
}

// shorten drops candidates beyond the limit. Half of the places are for the first of each kind: sixty damage dealers nearby must not hide
// the only healer.
func (l *shortlist) shorten() {
	slices.SortFunc(l.list, l.prefer)
	if len(l.list) <= l.limit {
		return
	}
	l.partial = true
	kinds := map[kind]int{}
	for _, e := range l.list {
		kinds[e.c.kind]++
	}
	share, others := max(1, l.limit/(2*len(kinds))), l.limit/2
	clear(kinds)
	kept := l.list[:0]
	for _, e := range l.list {
		switch {
		case kinds[e.c.kind] < share && len(kept) < l.limit:
			kinds[e.c.kind]++
		case others > 0:
			others--
		default:
			continue
		}
		kept = append(kept, e)
	}
	clear(l.list[len(kept):])
	l.list = kept
}

// candidates returns those that are kept, in order of preference.
func (l *shortlist) candidates() []*candidate {
	l.shorten()
	all := make([]*candidate, len(l.list))
	for i, e := range l.list {
		all[i] = e.c
	}
	return all
}
