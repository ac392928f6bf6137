package verify

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// agesFor returns the waiting times that decide the steps of a match: one, or with Each one a ticket. What has steps
// must hold by all of them.
func (c *checker) agesFor(by profile.Age) []time.Duration {
	ages := c.sortedAges
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
	default: // profile.Each
		return ages
	}
}

// meanOf returns the mean of at least one age in whole nanoseconds, rounded down as the product rounds it: both means
// must be on the same side of a step.
func meanOf(ages []time.Duration) time.Duration {
	var sum time.Duration
	for _, age := range ages {
		sum += age
	}
	return sum / time.Duration(len(ages))
}

// limitsOf returns the limits of a rule at the age of the match: one, or with Each one a ticket. A rule on all players
// must hold by all of them.
func (c *checker) limitsOf(r profile.Rule) (limits []profile.Limits) {
	for _, age := range c.agesFor(r.Age) {
		limits = append(limits, limitsAt(r, age))
	}
	return limits
}

// limitsBetween returns the limits of a rule for the players or parties of these tickets: with Each those at the age of
// each ticket, else those of the match.
func (c *checker) limitsBetween(r profile.Rule, tickets ...string) (limits []profile.Limits) {
	if r.Age != profile.Each {
		return c.limitsOf(r)
	}
	for _, ticket := range tickets {
		// Players of a roster do not wait: of a newcomer and one of them, the newcomer alone decides.
		if age, isNewcomer := c.ageByTicket[ticket]; isNewcomer {
			limits = append(limits, limitsAt(r, age))
		}
	}
	return limits
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
