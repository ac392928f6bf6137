package verify

import (
	"math"
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// checkNear checks that the numbers of each two players differ by no more than the limit, or those of each player from
// the mean of all.
func (c *checker) checkNear(r profile.Rule) (found []Violation) {
	entries := c.entriesByRole(r, r.Attribute, r.ByRole, numbers...)
	for _, team := range c.teamScopes(r) {
		if r.FromMean {
			found = append(found, c.checkNearMean(r, entriesOf(entries, team))...)
		} else {
			found = append(found, c.checkNearPairs(r, entriesOf(entries, team))...)
		}
	}
	return found
}

// checkNearPairs compares each pair of players, by the limits and the tolerances of both tickets, all of which must
// hold.
func (c *checker) checkNearPairs(r profile.Rule, entries []entry) (found []Violation) {
	for i, a := range entries {
		for _, b := range entries[i+1:] {
			distance := math.Abs(a.value.Number - b.value.Number)
			limits := slices.Concat(c.limitsBetween(r, a.ticket, b.ticket), c.ownTolerances(r, a.ticket, b.ticket))
			for _, l := range limits {
				found = append(found, checkWithin(r.ID, distance, l, "%s and %s are too far apart", a.holderName,
					b.holderName)...)
			}
		}
	}
	return found
}

// ownTolerances returns the limits that the players of these tickets have as an attribute, if the rule names one.
func (c *checker) ownTolerances(r profile.Rule, tickets ...string) (limits []profile.Limits) {
	if r.Tolerance == "" {
		return nil
	}
	for _, m := range c.membersIn("") {
		v, ok := c.ownValue(r.Tolerance, m)
		if !ok || v.Kind != match.Number || !slices.Contains(tickets, m.seat.Ticket) {
			continue
		}
		// Players of a roster have no age at which the rule could have ended for them.
		if m.inRoster || !limitsAt(r, m.ticketAge).Ended {
			// A negative tolerance accepts only equals.
			limits = append(limits, profile.Limits{Within: max(0, v.Number)})
		}
	}
	return limits
}

// checkNearMean compares each player with the mean of all, by the limits of its ticket.
func (c *checker) checkNearMean(r profile.Rule, entries []entry) (found []Violation) {
	mean, _ := foldNumbers(profile.FoldMean, numbersOf(entries))
	for _, e := range entries {
		for _, l := range c.limitsBetween(r, e.ticket) {
			found = append(found, checkWithin(r.ID, math.Abs(e.value.Number-mean), l, "%s is too far from the mean",
				e.holderName)...)
		}
	}
	return found
}

// checkWithin returns a violation if the value is more than the limit's Within.
func checkWithin(rule string, value float64, l profile.Limits, format string, args ...any) []Violation {
	if l.Ended || value <= l.Within {
		return nil
	}
	return []Violation{measuredViolation(rule, value, l.Within, format, args...)}
}
