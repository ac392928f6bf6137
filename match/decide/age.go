package decide

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// age returns the age that decides the steps of rules. Of Each it is the youngest ticket's, whose steps are the narrowest.
// Players of an open match do not wait: they have no part in it.
func (l *lineup) age(a profile.Age) time.Duration {
	s := l.span(nil)
	if s.earliest > s.latest {
		return 0
	}
	switch a {
	case profile.Oldest:
		return time.Duration(l.now - s.earliest)
	case profile.Mean:
		return l.meanAge()
	case profile.Youngest, profile.Each:
	}
	return time.Duration(l.now - s.latest)
}

func (l *lineup) meanAge() time.Duration {
	var total time.Duration
	n := 0
	for _, c := range l.picks {
		if !c.seated {
			total += l.ageOf(c)
			n++
		}
	}
	return total / time.Duration(n)
}

// widest returns the greatest age that may decide for a match with the picks and c. Older tickets that join later would
// widen it further; such a match is found when the oldest of them is the seed.
func (l *lineup) widest(a profile.Age, c *candidate) time.Duration {
	s := l.span(c)
	if s.earliest > s.latest {
		return 0
	}
	if a == profile.Youngest {
		return time.Duration(l.now - s.latest)
	}
	return time.Duration(l.now - s.earliest)
}

// binds reports whether a rule whose age is Each has not ended for a ticket. It holds for a pair of which it binds one, since the narrower
// of two steps counts. Those of an open match have no part in it.
func (l *lineup) binds(r *rule, c *candidate) bool {
	return !c.seated && !r.limits(l.ageOf(c)).Ended
}

// bindsAny reports whether a rule whose age is Each has not ended for one of the tickets.
func (l *lineup) bindsAny(r *rule) bool {
	return slices.ContainsFunc(l.picks, func(c *candidate) bool { return l.binds(r, c) })
}
