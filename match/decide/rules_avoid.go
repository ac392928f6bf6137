package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// avoid holds if no player lists another: in the match, or in a team. A player without a list avoids nobody.
type avoid struct {
	profile   *profile.Profile
	attribute string
	perTeam   bool
}

func (a *avoid) admitsCandidate(l *lineup, c *candidate, _ *profile.Limits) bool {
	// It is not known yet who is in which team.
	if a.perTeam {
		return true
	}
	if a.avoidsItself(c) {
		return false
	}
	for _, pick := range l.picks {
		// Either of the two may list the other.
		if a.listsPlayer(pick, c) || a.listsPlayer(c, pick) {
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
	binds := l.bindsTicket(r, c)
	if binds && a.avoidsItself(c) {
		return false
	}
	for _, pick := range l.picks {
		if (binds || l.bindsTicket(r, pick)) && (a.listsPlayer(pick, c) || a.listsPlayer(c, pick)) {
			return false
		}
	}
	return true
}

// avoidsItself reports whether a party has a player who lists another of it.
func (a *avoid) avoidsItself(c *candidate) bool { return c.playerCount > 1 && a.listsPlayer(c, c) }

// listsPlayer reports whether a player of from lists one of to.
func (a *avoid) listsPlayer(from, to *candidate) bool {
	for i := range from.ticket.Players {
		subs := a.avoidedSubs(from, i)
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

// avoidedSubs returns the subs of the players that a player avoids. They are in no column, since few players have a list.
func (a *avoid) avoidedSubs(c *candidate, player int) []string {
	v, _ := valueOf(a.profile, &c.ticket.Players[player], a.attribute)
	return listTexts(&v)
}

func (a *avoid) judgeLineup(l *lineup, _ *profile.Limits) verdict {
	return a.countOffences(l, func(*candidate, *candidate) bool { return true })
}

// judgePairs implements pairwise.
func (a *avoid) judgePairs(l *lineup, r *rule) verdict {
	if !l.bindsAny(r) {
		return verdict{holdingRegions: everywhere, hasEnded: true}
	}
	return a.countOffences(l, func(c, other *candidate) bool { return l.bindsTicket(r, c) || l.bindsTicket(r, other) })
}

// countOffences counts the players that another one avoids and would meet, of pairs of tickets that the rule binds.
func (a *avoid) countOffences(l *lineup, binds func(c, other *candidate) bool) verdict {
	n := 0
	for i, c := range l.picks {
		for p := range c.playerCount {
			if subs := a.avoidedSubs(c, p); len(subs) > 0 {
				n += a.countMet(l, subs, i, p, binds)
			}
		}
	}
	return noneOffends(n)
}

// countMet counts the players that player p of pick i avoids and would meet.
func (a *avoid) countMet(l *lineup, subs []string, i, p int, binds func(c, other *candidate) bool) int {
	n := 0
	for j, c := range l.picks {
		if !binds(l.picks[i], c) {
			continue
		}
		for q := range c.playerCount {
			if i == j && p == q || a.perTeam && !l.areTeammates(l.firstPlayer[i]+p, l.firstPlayer[j]+q) {
				continue
			}
			if slices.Contains(subs, c.ticket.Players[q].Sub) {
				n++
			}
		}
	}
	return n
}
