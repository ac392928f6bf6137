package replay

import (
	"cmp"
	"slices"

	"github.com/lattice-director/director/match/decide"
)

// lackCounts counts what tickets lack that name the profile and are no candidates.
type lackCounts struct {
	ticketCount   int
	countByReason map[LackingCount]int // by what is lacking, with Tickets 0
}

// addLacks counts a ticket by what it lacks.
func (l *lackCounts) addLacks(lacks []decide.Lack) {
	l.ticketCount++
	if l.countByReason == nil {
		l.countByReason = map[LackingCount]int{}
	}
	seen := map[LackingCount]bool{} // two players may lack the same
	for _, lack := range lacks {
		// Without the player, so that tickets that lack the same are counted together.
		why := LackingCount{Reason: lack.Why, Attribute: lack.Attribute, Rule: lack.Rule}
		if !seen[why] {
			seen[why] = true
			l.countByReason[why]++
		}
	}
}

// reasonSummary returns the counts for a report.
func (l *lackCounts) reasonSummary() NoCandidates {
	all := []LackingCount{} // not nil, which JSON would write as null
	for why, n := range l.countByReason {
		why.Tickets = n
		all = append(all, why)
	}
	slices.SortFunc(all, func(a, b LackingCount) int {
		return cmp.Or(cmp.Compare(b.Tickets, a.Tickets), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Rule, b.Rule))
	})
	return NoCandidates{Tickets: l.ticketCount, Why: all}
}
