package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// A profile with a trade makes a match when its players have waited, in sum, for as long as its quality costs them
// ([profile.Trade]). The rule is that of Emek, Kutten and Wattenhofer, "Online matching: haste makes waste!" (2016), in
// its deterministic form, over matches of any size: a player's cost of a number is its distance from the mean of the
// match, so that the cost of two players is their difference.
//
// A seed whose best match is not due waits for the moment when it is. That moment is never later than that of the best
// match: a ticket that comes later looks for a match itself, and if a ticket leaves, other matches are due later.

// tradedValues returns what the match in s.finalLine costs.
func (s *search) tradedValues(regions *regionSet) []Traded {
	var all []Traded
	for i := range s.plan.trades {
		t := &s.plan.trades[i]
		all = append(all, Traded{t.terms.Key(), s.paidFor(t, regions) / float64(s.finalLine.waitingPlayers()),
			t.terms.PerSecond})
	}
	return all
}

// costSeconds returns the cost of the match in s.finalLine in seconds of waiting, summed over its players.
func (s *search) costSeconds(regions *regionSet) (seconds float64) {
	for i := range s.plan.trades {
		t := &s.plan.trades[i]
		seconds = float64(seconds + s.paidFor(t, regions)/t.terms.PerSecond)
	}
	return seconds
}

// paidFor returns what the players of the match in s.finalLine pay of a quality, summed over them.
func (s *search) paidFor(t *trade, regions *regionSet) float64 {
	l := &s.finalLine
	switch t.terms.Quality {
	case profile.OfAttribute:
		l.scratchValues = l.gatherNumbers(l.scratchValues[:0],
			scope{column: t.numberColumn, onlyRole: anyRole, onlyTeam: anyTeam})
		return sumDistances(l.scratchValues, nil)
	case profile.OfBalance:
		return s.paidForBalance(t)
	default: // OfLatency
		return s.paidForLatency(regions)
	}
}

// sumDistances returns the sum of the distances from the mean, each as often as its weight says; nil: once.
func sumDistances(values []float64, weights []float64) (total float64) {
	if len(values) == 0 {
		return 0
	}
	mean := sumValues(values) / float64(len(values))
	for i, x := range values {
		weight := 1.0
		if weights != nil {
			weight = weights[i]
		}
		total = float64(total + float64(weight*math.Abs(x-mean)))
	}
	return total
}

// paidForBalance compares the value of each team with the mean of the teams, once for each of its players.
func (s *search) paidForBalance(t *trade) float64 {
	l := &s.finalLine
	var teams, players []float64
	for team := range l.teamCount {
		l.scratchValues = l.gatherNumbers(l.scratchValues[:0],
			scope{column: t.numberColumn, byRole: t.byRole, onlyRole: anyRole, onlyTeam: team})
		if len(l.scratchValues) > 0 {
			teams = append(teams, foldValues(l.scratchValues, t.terms.Teams))
			players = append(players, float64(len(l.scratchValues)))
		}
	}
	return sumDistances(teams, players)
}

// paidForLatency compares the region that the match prefers with the best one of each ticket.
func (s *search) paidForLatency(regions *regionSet) (total float64) {
	l := &s.finalLine
	choices := regions.rankRegions(s.holdingRegions(), l, s.plan)
	// No region is known: none is slower than another.
	if len(choices) == 0 {
		return 0
	}
	region := regions.number(choices[0].Name)
	for _, c := range l.picks {
		// A ticket that did not measure the region pays nothing, since its latency there is not known.
		if !c.isSeated && c.measuredRegions&(1<<region) != 0 {
			best := slices.Min(c.latencyMillis)
			total += float64(c.playerCount * int(c.latencyMillis[region]-best))
		}
	}
	return total
}

// matchDueAt returns when the match in s.finalLine is due, which may be in the past: when its players have waited for
// as long as it costs, and at the latest at its oldest ticket's last moment.
func (s *search) matchDueAt(regions *regionSet) int64 {
	waited, last := time.Duration(0), int64(math.MaxInt64)
	for _, c := range s.finalLine.picks {
		if !c.isSeated {
			waited += time.Duration(c.playerCount) * s.finalLine.ageOf(c)
			// A tenth of the ticket's time is left to commit the match before the ticket expires.
			last = min(last, c.createdNanos+int64(s.plan.profile.TTL/10*9))
		}
	}
	// At most a thousand days, since now plus an infinite time would overflow and lie in the past.
	missing := min(float64(s.costSeconds(regions)*float64(time.Second))-float64(waited), 1000*float64(24*time.Hour))
	return min(last, s.finalLine.nowNanos+int64(math.Ceil(missing/float64(s.finalLine.waitingPlayers()))))
}

// dueAt returns when the match that the search found is due; zero: at once.
func (e *Engine) dueAt() time.Time {
	if len(e.plan.trades) == 0 {
		return time.Time{}
	}
	at := e.search.matchDueAt(&e.hostRegions)
	if at <= e.nowNanos {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}

// restUntil lets a seed wait until its match is due.
func (e *Engine) restUntil(c *candidate, due time.Time) {
	c.searchAt = due.UnixNano()
	e.restSeed(c)
	// A newcomer's own search finds each pair that it may be in, so that no better pair is missed while the seed rests.
	// Of larger matches a newcomer finds only the one that it prefers itself.
	if e.plan.maxPlayers == 2 {
		e.stopWatching(c)
	}
}
