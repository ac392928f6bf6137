package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// lineup is a set of tickets that may become a match, with the team and the role of each player once they have them.
// Players are numbered through: those of the first ticket, then those of the next.
type lineup struct {
	now            int64 // nanoseconds since 1970
	allowedRegions uint64
	teams          int

	picks   []*candidate
	first   []int // by pick: the number of its first player
	team    []int // by player; noTeam
	role    []int // by player; noRole
	players int
	ages    []ageSpan // by pick: of the picks up to it

	values, moreValues []float64 // scratch
}

// ageSpan is the earliest and the latest creation of some tickets.
type ageSpan struct{ earliest, latest int64 }

// What a player has that is in no team yet, or in no role.
const (
	noTeam = -2
	noRole = -2
)

func (l *lineup) reset(now int64, allowed uint64, teams int) {
	l.now, l.allowedRegions, l.teams = now, allowed, teams
	l.picks, l.first, l.team, l.role, l.ages = l.picks[:0], l.first[:0], l.team[:0], l.role[:0], l.ages[:0]
	l.players = 0
}

func (l *lineup) push(c *candidate) {
	l.ages = append(l.ages, l.span(c))
	l.picks = append(l.picks, c)
	l.first = append(l.first, l.players)
	for range c.size {
		l.team = append(l.team, noTeam)
		l.role = append(l.role, noRole)
	}
	l.players += c.size
}

func (l *lineup) pop() {
	last := len(l.picks) - 1
	l.players -= l.picks[last].size
	l.picks[last] = nil
	l.picks, l.first, l.ages = l.picks[:last], l.first[:last], l.ages[:last]
	l.team, l.role = l.team[:l.players], l.role[:l.players]
}

// remove takes out a pick with its players.
func (l *lineup) remove(pick int) {
	from, to := l.playersOf(pick)
	n := to - from
	l.team, l.role = slices.Delete(l.team, from, to), slices.Delete(l.role, from, to)
	l.picks, l.first, l.ages = slices.Delete(l.picks, pick, pick+1), slices.Delete(l.first, pick, pick+1), l.ages[:pick]
	for i := pick; i < len(l.picks); i++ {
		l.first[i] -= n
		l.ages = append(l.ages, l.span(l.picks[i]))
	}
	l.players -= n
}

// copy makes l a copy of another line-up.
func (l *lineup) copy(from *lineup) {
	l.now, l.allowedRegions, l.teams, l.players = from.now, from.allowedRegions, from.teams, from.players
	l.picks, l.first, l.ages = append(l.picks[:0], from.picks...), append(l.first[:0],
		from.first...), append(l.ages[:0], from.ages...)
	l.team, l.role = append(l.team[:0], from.team...), append(l.role[:0], from.role...)
}

// sortByID puts the picks into the order of their ids, with their teams. It uses another line-up as scratch.
func (l *lineup) sortByID(scratch *lineup) {
	scratch.copy(l)
	l.copyByID(scratch)
	for pick, c := range l.picks {
		at := slices.Index(scratch.picks, c)
		from, to := scratch.playersOf(at)
		copy(l.team[l.first[pick]:], scratch.team[from:to])
	}
}

// copyByID makes l a copy of another line-up with the tickets in the order of their ids, in which sums are taken.
func (l *lineup) copyByID(from *lineup) {
	l.reset(from.now, from.allowedRegions, from.teams)
	picks := slices.Clone(from.picks)
	slices.SortFunc(picks, byID)
	for _, c := range picks {
		l.push(c)
	}
}

func byID(a, b *candidate) int {
	if a.ticket.ID != b.ticket.ID {
		if a.ticket.ID < b.ticket.ID {
			return -1
		}
		return 1
	}
	return 0
}

// span returns the creation of the picks and c.
func (l *lineup) span(c *candidate) ageSpan {
	s := ageSpan{math.MaxInt64, math.MinInt64}
	if n := len(l.ages); n > 0 {
		s = l.ages[n-1]
	}
	if c != nil && !c.seated {
		s.earliest, s.latest = min(s.earliest, c.created), max(s.latest, c.created)
	}
	return s
}

func (l *lineup) ageOf(c *candidate) time.Duration { return time.Duration(l.now - c.created) }

// playersOf returns the numbers of a pick's first player and of the one after its last.
func (l *lineup) playersOf(pick int) (from, to int) {
	return l.first[pick], l.first[pick] + l.picks[pick].size
}

// setTeam puts all players of a pick into a team.
func (l *lineup) setTeam(pick, team int) {
	from, to := l.playersOf(pick)
	for p := from; p < to; p++ {
		l.team[p] = team
	}
}

// areTeammates reports whether two players are in one team. Players who are in none yet are no teammates.
func (l *lineup) areTeammates(a, b int) bool { return l.team[a] != noTeam && l.team[a] == l.team[b] }

// size returns the players of a team.
func (l *lineup) size(team int) int {
	n := 0
	for _, t := range l.team {
		if t == team {
			n++
		}
	}
	return n
}

func (l *lineup) isInScope(player int, s scope) bool {
	return (s.team == anyTeam || l.team[player] == s.team) && (s.role == anyRole || l.role[player] == s.role)
}

// gather appends the numbers in scope, in the order of the picks.
func (l *lineup) gather(to []float64, s scope) []float64 {
	for pick := range l.picks {
		to = l.gatherPick(to, pick, s)
	}
	return to
}

func (l *lineup) gatherPick(to []float64, pick int, s scope) []float64 {
	start, first := len(to), l.first[pick]
	member := s
	if foldsNumbers(s.fold) { // a party has one number, in each team where it has players
		member.team = anyTeam
	}
	present := false
	for p, x := range l.picks[pick].column(s.column) {
		if s.byRole != nil {
			x = l.picks[pick].rating(&s, p, l.role[first+p])
		}
		// NaN, a player who is left out, is the only number that is not equal to itself.
		if l.isInScope(first+p, member) && x == x {
			to = append(to, x)
			present = present || l.isInScope(first+p, s)
		}
	}
	if !present {
		return to[:start]
	}
	return foldParty(to, start, s.fold)
}

// age returns the age that decides the steps of rules. Of Each it is the youngest ticket's, whose steps are the
// narrowest. Players of an open match do not wait: they have no part in it.
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
	// n is not 0: age has returned before where no ticket waits.
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

// binds reports whether a rule whose age is Each has not ended for a ticket. It holds for a pair of which it binds one,
// since the narrower of two steps counts. Those of an open match have no part in it.
func (l *lineup) binds(r *rule, c *candidate) bool {
	return !c.seated && !r.limits(l.ageOf(c)).Ended
}

// bindsAny reports whether a rule whose age is Each has not ended for one of the tickets.
func (l *lineup) bindsAny(r *rule) bool {
	return slices.ContainsFunc(l.picks, func(c *candidate) bool { return l.binds(r, c) })
}
