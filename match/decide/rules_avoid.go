package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// avoid holds if no player lists another: in the match, or in a team. A player without a list avoids nobody.
type avoid struct {
	plan      *plan
	attribute string
	perTeam   bool
}

func (a *avoid) admits(l *lineup, c *candidate, _ *profile.Limits) bool {
	if a.perTeam {
		return true
	}
	if a.within(c) {
		return false
	}
	for _, pick := range l.picks {
		if a.lists(pick, c) || a.lists(c, pick) {
			return false
		}
	}
	return true
}

// admitsPairs implements pairwise: tickets for which the rule has ended may avoid each other.
func (a *avoid) admitsPairs(l *lineup, c *candidate, r *rule) bool {
	if a.perTeam {
		return true
	}
	binds := l.binds(r, c)
	if binds && a.within(c) {
		return false
	}
	for _, pick := range l.picks {
		if (binds || l.binds(r, pick)) && (a.lists(pick, c) || a.lists(c, pick)) {
			return false
		}
	}
	return true
}

// within reports whether a party has a player who lists another of it.
func (a *avoid) within(c *candidate) bool { return c.size > 1 && a.lists(c, c) }

// lists reports whether a player of from lists one of to.
func (a *avoid) lists(from, to *candidate) bool {
	for i := range from.ticket.Players {
		subs := a.avoided(from, i)
		if len(subs) == 0 {
			continue
		}
		for j := range to.ticket.Players {
			if (from != to || i != j) && slices.Contains(subs, to.ticket.Players[j].Sub) {
				return true
			}
		}
	}
	return false
}

func (a *avoid) avoided(c *candidate, player int) []string {
	v, _ := a.plan.value(&c.ticket.Players[player], a.attribute)
	return texts(&v)
}

func (a *avoid) judge(l *lineup, _ *profile.Limits) verdict {
	return a.offences(l, func(*candidate, *candidate) bool { return true })
}

// judgePairs implements pairwise.
func (a *avoid) judgePairs(l *lineup, r *rule) verdict {
	if !l.bindsAny(r) {
		return verdict{regions: everywhere, ended: true}
	}
	return a.offences(l, func(c, other *candidate) bool { return l.binds(r, c) || l.binds(r, other) })
}

// offences counts the players that another one avoids and would meet, of pairs of tickets that the rule binds.
func (a *avoid) offences(l *lineup, binds func(c, other *candidate) bool) verdict {
	n := 0
	for i, c := range l.picks {
		for p := range c.size {
			if subs := a.avoided(c, p); len(subs) > 0 {
				n += a.met(l, subs, i, p, binds)
			}
		}
	}
	return none(n)
}

// met counts the players that player p of pick i avoids and would meet.
func (a *avoid) met(l *lineup, subs []string, i, p int, binds func(c, other *candidate) bool) int {
	n := 0
	for j, c := range l.picks {
		if !binds(l.picks[i], c) {
			continue
		}
		for q := range c.size {
			if i == j && p == q || a.perTeam && !l.areTeammates(l.first[i]+p, l.first[j]+q) {
				continue
			}
			if slices.Contains(subs, c.ticket.Players[q].Sub) {
				n++
			}
		}
	}
	return n
}
