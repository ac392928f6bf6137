package replay

import (
	"cmp"
	"slices"

	"github.com/lattice-director/director/match/decide"
)

// lacking counts what tickets lack that name the profile and are no candidates.
type lacking struct {
	tickets int
	counts  map[LackingCount]int // of a count without its number
}

func (l *lacking) add(lacks []decide.Lack) {
	l.tickets++
	if l.counts == nil {
		l.counts = map[LackingCount]int{}
	}
	seen := map[LackingCount]bool{} // two players may lack the same
	for _, lack := range lacks {
		why := LackingCount{Reason: lack.Why, Attribute: lack.Attribute, Rule: lack.Rule}
		if !seen[why] {
			seen[why] = true
			l.counts[why]++
		}
	}
}

func (l *lacking) summary() NoCandidates {
	all := []LackingCount{}
	for why, n := range l.counts {
		why.Tickets = n
		all = append(all, why)
	}
	slices.SortFunc(all, func(a, b LackingCount) int {
		return cmp.Or(cmp.Compare(b.Tickets, a.Tickets), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Rule, b.Rule))
	})
	return NoCandidates{Tickets: l.tickets, Why: all}
}
