package verify

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// agesOf returns the waiting times that decide the steps of a match: one, or with Each one a ticket. What has steps
// must hold by all of them.
func (g *game) agesOf(by profile.Age) []time.Duration {
	ages := g.sortedAges
	if len(ages) == 0 {
		return nil
	}
	switch by {
	case profile.Oldest:
		return ages[len(ages)-1:]
	case profile.Youngest:
		return ages[:1]
	case profile.Mean:
		return []time.Duration{meanOf(ages)}
	case profile.Each:
	}
	return ages
}

func meanOf(ages []time.Duration) time.Duration {
	var sum time.Duration
	for _, age := range ages {
		sum += age
	}
	// Whole nanoseconds, rounded down, as the product has them: both must be on the same side of a step.
	return sum / time.Duration(len(ages))
}

// limitsNow returns the limits that a rule has by now: one, or with Each one a ticket. A rule on all players must hold
// by all of them.
func (g *game) limitsNow(r profile.Rule) (found []profile.Limits) {
	for _, age := range g.agesOf(r.Age) {
		found = append(found, limitsAt(r, age))
	}
	return found
}

// limitsBetween returns the limits that a rule has for two players, or two parties: with Each those of their two
// tickets.
func (g *game) limitsBetween(r profile.Rule, tickets ...string) (found []profile.Limits) {
	if r.Age != profile.Each {
		return g.limitsNow(r)
	}
	for _, ticket := range tickets {
		// Players of a roster do not wait: of a pair with one, the newcomer alone decides.
		if age, newcomer := g.ageByTicket[ticket]; newcomer {
			found = append(found, limitsAt(r, age))
		}
	}
	return found
}

// limitsAt returns the limits of a rule for an age.
func limitsAt(r profile.Rule, age time.Duration) profile.Limits {
	limits := r.Limits
	for _, step := range r.Widen {
		if age >= step.AfterWait {
			limits = step.Limits
		}
	}
	return limits
}

// hasEnded reports whether a rule has ended by all of the limits.
func hasEnded(limits []profile.Limits) bool {
	return !slices.ContainsFunc(limits, func(l profile.Limits) bool { return !l.Ended })
}
