package decide

import (
	"cmp"
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

// trade is a profile's trade, with the column of its numbers.
type trade struct {
	terms profile.Trade

	column int   // -1: it has none
	byRole []int // as of a scope
}

func (pl *plan) addTrades() {
	for _, t := range pl.profile.Trade {
		added := trade{terms: t, column: -1}
		if t.Attribute != "" {
			numbers := column{attribute: t.Attribute, role: anyRole, optional: true}
			added.column, added.byRole = pl.number(numbers), pl.byRole(t.ByRole, numbers)
		}
		pl.trades = append(pl.trades, added)
	}
}

// Traded is what a match costs each of its players by one trade, on average.
type Traded struct {
	Of        string  // the key of the trade: an attribute, "latency" or "balance"
	Value     float64 // in points of the attribute, or in milliseconds
	PerSecond float64 // what a second of waiting is worth
}

// tradedValues returns what the match in s.final costs.
func (s *search) tradedValues(regions *regionSet) []Traded {
	var all []Traded
	for i := range s.plan.trades {
		t := &s.plan.trades[i]
		all = append(all, Traded{t.terms.Key(), s.paid(t, regions) / float64(s.final.waitingPlayers()),
			t.terms.PerSecond})
	}
	return all
}

// costs returns the cost of the match in s.final in seconds of waiting, summed over its players.
func (s *search) costs(regions *regionSet) (seconds float64) {
	for i := range s.plan.trades {
		t := &s.plan.trades[i]
		seconds = float64(seconds + s.paid(t, regions)/t.terms.PerSecond)
	}
	return seconds
}

// paid returns what the players of the match in s.final pay of a quality, summed over them.
func (s *search) paid(t *trade, regions *regionSet) float64 {
	l := &s.final
	switch t.terms.Quality {
	case profile.OfAttribute:
		l.values = l.gather(l.values[:0], scope{column: t.column, role: anyRole, team: anyTeam})
		return distances(l.values, nil)
	case profile.OfBalance:
		return s.paidForBalance(t)
	case profile.OfLatency:
	}
	return s.paidForLatency(regions)
}

// distances returns the sum of the distances from the mean, each as often as its weight says; nil: once.
func distances(values []float64, weights []float64) (total float64) {
	if len(values) == 0 {
		return 0
	}
	mean := sum(values) / float64(len(values))
	for i, x := range values {
		weight := 1.0
		if weights != nil {
			weight = weights[i]
		}
		total = float64(total + float64(weight*math.Abs(x-mean)))
	}
	return total
}

func (s *search) paidForBalance(t *trade) float64 {
	l := &s.final
	var teams, players []float64
	for team := range l.teams {
		l.values = l.gather(l.values[:0], scope{column: t.column, byRole: t.byRole, role: anyRole, team: team})
		if len(l.values) > 0 {
			teams, players = append(teams, fold(l.values, t.terms.Teams)), append(players, float64(len(l.values)))
		}
	}
	return distances(teams, players)
}

// paidForLatency compares the region that the match prefers with the best one of each ticket.
func (s *search) paidForLatency(regions *regionSet) (total float64) {
	l := &s.final
	choices := regions.choose(s.regions(), l, s.plan)
	if len(choices) == 0 {
		return 0
	}
	region := regions.number(choices[0].Name)
	for _, c := range l.picks {
		if !c.seated && c.measured&(1<<region) != 0 {
			best := slices.Min(c.millis)
			total += float64(c.size * int(c.millis[region]-best))
		}
	}
	return total
}

func (l *lineup) waitingPlayers() (n int) {
	for _, c := range l.picks {
		if !c.seated {
			n += c.size
		}
	}
	return n
}

// matchDueAt returns when the match in s.final is due, which may be in the past: when its players have waited for as
// long as it costs, and at the latest at its oldest ticket's last moment.
func (s *search) matchDueAt(regions *regionSet) int64 {
	waited, last := time.Duration(0), int64(math.MaxInt64)
	for _, c := range s.final.picks {
		if !c.seated {
			waited += time.Duration(c.size) * s.final.ageOf(c)
			// A tenth of its time is left to commit the match before the ticket expires.
			last = min(last, c.created+int64(s.plan.profile.TTL/10*9))
		}
	}
	// A thousand days, which int64 still holds in nanoseconds: the sum of now and infinity would lie in the past.
	missing := min(s.costs(regions)*float64(time.Second)-float64(waited), 1000*float64(24*time.Hour))
	return min(last, s.final.now+int64(math.Ceil(missing/float64(s.final.waitingPlayers()))))
}

// dueAt returns when the match that the search found is due; zero: at once.
func (e *Engine) dueAt() time.Time {
	if len(e.plan.trades) == 0 {
		return time.Time{}
	}
	at := e.search.matchDueAt(&e.regions)
	if at <= e.now {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}

// mustWait reports whether the match that the search found is not due yet. Then its seed waits until it is.
func (e *Engine) mustWait(c *candidate) bool {
	at := e.dueAt()
	if at.IsZero() {
		return false
	}
	c.searchAt = at.UnixNano()
	e.rest(c, false)
	if e.plan.maxPlayers == 2 { // a newcomer looks at each pair that it may be in
		e.unwatch(c)
	}
	return true
}

// preferTraded orders the choices of a seed by when a match with each would be due: near ones and old ones first.
func (k *choices) preferTraded(a, b *candidate) int {
	return cmp.Or(cmp.Compare(k.tradedDelay(a), k.tradedDelay(b)), byAge(a, b))
}

// tradedDelay returns how much later a pair with c is due than one with an equal that is as old as the seed, in
// seconds.
func (k *choices) tradedDelay(c *candidate) float64 {
	delay := time.Duration(c.created - k.seed.created).Seconds()
	for i := range k.plan.trades {
		t := &k.plan.trades[i]
		if t.terms.Quality != profile.OfAttribute {
			continue
		}
		if x, from := c.middle(t.column), k.seed.middle(t.column); !math.IsInf(x, 1) && !math.IsInf(from, 1) {
			delay = float64(delay + math.Abs(x-from)/t.terms.PerSecond)
		}
	}
	return delay
}
