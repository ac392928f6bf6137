package decide

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// lineup is a set of tickets that may become a match, with the team and the role of each player once they have them.
// Players are numbered through: those of the first ticket, then those of the next.
type lineup struct {
	nowNanos       int64  // nanoseconds since 1970
	allowedRegions uint64 // where the match may be
	teamCount      int

	picks        []*candidate
	firstPlayer  []int // by pick: the number of its first player
	teamByPlayer []int // may be noTeam
	roleByPlayer []int // may be noRole
	playerCount  int
	ageSpans     []ageSpan // by pick: of the picks up to it

	scratchValues, moreValues []float64 // memory for the numbers of rules
}

// ageSpan is the earliest and the latest creation of some tickets.
type ageSpan struct{ earliest, latest int64 }

// resetTo makes l a line-up without tickets.
func (l *lineup) resetTo(now int64, allowed uint64, teams int) {
	l.nowNanos, l.allowedRegions, l.teamCount = now, allowed, teams
	// The slices keep their memory: a search resets its line-ups for each seed.
	l.picks, l.firstPlayer, l.ageSpans = l.picks[:0], l.firstPlayer[:0], l.ageSpans[:0]
	l.teamByPlayer, l.roleByPlayer = l.teamByPlayer[:0], l.roleByPlayer[:0]
	l.playerCount = 0
}

// pushPick adds a ticket, whose players have no team and no role yet.
func (l *lineup) pushPick(c *candidate) {
	l.ageSpans = append(l.ageSpans, l.spanWith(c))
	l.picks = append(l.picks, c)
	l.firstPlayer = append(l.firstPlayer, l.playerCount)
	for range c.playerCount {
		l.teamByPlayer = append(l.teamByPlayer, noTeam)
		l.roleByPlayer = append(l.roleByPlayer, noRole)
	}
	l.playerCount += c.playerCount
}

// popPick takes out the ticket that was added last.
func (l *lineup) popPick() {
	last := len(l.picks) - 1
	l.playerCount -= l.picks[last].playerCount
	l.picks[last] = nil // else the line-up, which lives as long as the engine, would keep the ticket in memory
	l.picks, l.firstPlayer, l.ageSpans = l.picks[:last], l.firstPlayer[:last], l.ageSpans[:last]
	l.teamByPlayer, l.roleByPlayer = l.teamByPlayer[:l.playerCount], l.roleByPlayer[:l.playerCount]
}

// removePick takes out a pick with its players.
func (l *lineup) removePick(pick int) {
	from, to := l.playersOf(pick)
	n := to - from
	l.teamByPlayer, l.roleByPlayer = slices.Delete(l.teamByPlayer, from, to), slices.Delete(l.roleByPlayer, from, to)
	l.picks, l.firstPlayer = slices.Delete(l.picks, pick, pick+1), slices.Delete(l.firstPlayer, pick, pick+1)
	// A span is of all picks up to its own: those behind the removed pick are computed again.
	l.ageSpans = l.ageSpans[:pick]
	for i := pick; i < len(l.picks); i++ {
		l.firstPlayer[i] -= n
		l.ageSpans = append(l.ageSpans, l.spanWith(l.picks[i]))
	}
	l.playerCount -= n
}

// copyFrom makes l a copy of another line-up.
func (l *lineup) copyFrom(from *lineup) {
	l.nowNanos, l.allowedRegions = from.nowNanos, from.allowedRegions
	l.teamCount, l.playerCount = from.teamCount, from.playerCount
	l.picks = append(l.picks[:0], from.picks...)
	l.firstPlayer = append(l.firstPlayer[:0], from.firstPlayer...)
	l.ageSpans = append(l.ageSpans[:0], from.ageSpans...)
	l.teamByPlayer = append(l.teamByPlayer[:0], from.teamByPlayer...)
	l.roleByPlayer = append(l.roleByPlayer[:0], from.roleByPlayer...)
}

// sortByID puts the picks into the order of their ids, with their teams and without roles. It overwrites scratch.
func (l *lineup) sortByID(scratch *lineup) {
	scratch.copyFrom(l)
	l.copyByID(scratch)
	for pick, c := range l.picks {
		at := slices.Index(scratch.picks, c)
		from, to := scratch.playersOf(at)
		copy(l.teamByPlayer[l.firstPlayer[pick]:], scratch.teamByPlayer[from:to])
	}
}

// copyByID makes l a copy of another line-up with the tickets in the order of their ids, in which sums are taken.
func (l *lineup) copyByID(from *lineup) {
	l.resetTo(from.nowNanos, from.allowedRegions, from.teamCount)
	picks := slices.Clone(from.picks)
	slices.SortFunc(picks, byID)
	for _, c := range picks {
		l.pushPick(c)
	}
}

// spanWith returns the earliest and the latest creation of the picks and of c, which may be nil.
func (l *lineup) spanWith(c *candidate) ageSpan {
	s := ageSpan{math.MaxInt64, math.MinInt64} // of no ticket: earliest > latest
	if n := len(l.ageSpans); n > 0 {
		s = l.ageSpans[n-1]
	}
	// Parties of an open match do not wait: their age must not widen a rule for the newcomers.
	if c != nil && !c.isSeated {
		s.earliest, s.latest = min(s.earliest, c.createdNanos), max(s.latest, c.createdNanos)
	}
	return s
}

// ageOf returns a candidate's age at the moment of the line-up.
func (l *lineup) ageOf(c *candidate) time.Duration { return time.Duration(l.nowNanos - c.createdNanos) }

// playersOf returns the numbers of a pick's first player and of the one after its last.
func (l *lineup) playersOf(pick int) (from, to int) {
	return l.firstPlayer[pick], l.firstPlayer[pick] + l.picks[pick].playerCount
}

// eachWith yields c and then the picks, as if c were one of them.
func (l *lineup) eachWith(c *candidate) iter.Seq[*candidate] {
	return func(yield func(*candidate) bool) {
		if !yield(c) {
			return
		}
		for _, pick := range l.picks {
			if !yield(pick) {
				return
			}
		}
	}
}

// setTeam puts all players of a pick into a team.
func (l *lineup) setTeam(pick, team int) {
	from, to := l.playersOf(pick)
	for p := from; p < to; p++ {
		l.teamByPlayer[p] = team
	}
}

// areTeammates reports whether two players are in one team. Players who are in none yet are no teammates.
func (l *lineup) areTeammates(a, b int) bool {
	return l.teamByPlayer[a] != noTeam && l.teamByPlayer[a] == l.teamByPlayer[b]
}

// teamSize returns the players of a team.
func (l *lineup) teamSize(team int) int {
	n := 0
	for _, t := range l.teamByPlayer {
		if t == team {
			n++
		}
	}
	return n
}

// largestParty returns the greatest number of players of one ticket in a team.
func (l *lineup) largestParty(team int) int {
	largest := 0
	for pick := range l.picks {
		n := 0
		from, to := l.playersOf(pick)
		for p := from; p < to; p++ {
			if l.teamByPlayer[p] == team {
				n++
			}
		}
		largest = max(largest, n)
	}
	return largest
}

// isInScope reports whether a player is in the team and the role of a scope.
func (l *lineup) isInScope(player int, s scope) bool {
	return (s.onlyTeam == anyTeam || l.teamByPlayer[player] == s.onlyTeam) &&
		(s.onlyRole == anyRole || l.roleByPlayer[player] == s.onlyRole)
}

// gatherNumbers appends the numbers in scope, in the order of the picks.
func (l *lineup) gatherNumbers(to []float64, s scope) []float64 {
	for pick := range l.picks {
		to = l.gatherPick(to, pick, s)
	}
	return to
}

// gatherPick appends the numbers of a pick in scope: one for each player or, where the rule folds parties, one for all.
func (l *lineup) gatherPick(to []float64, pick int, s scope) []float64 {
	start, first := len(to), l.firstPlayer[pick]
	member := s
	if foldsNumbers(s.partyFold) { // a party has one number, in each team where it has players
		member.onlyTeam = anyTeam
	}
	present := false
	for p, x := range l.picks[pick].numbersOf(s.column) {
		if s.byRole != nil {
			x = l.picks[pick].ratingIn(&s, p, l.roleByPlayer[first+p])
		}
		if l.isInScope(first+p, member) && !math.IsNaN(x) {
			to = append(to, x)
			present = present || l.isInScope(first+p, s)
		}
	}
	// A party counts in a team where it has a player, and not in one where only its number was looked up.
	if !present {
		return to[:start]
	}
	return foldParty(to, start, s.partyFold)
}

// atomsIn returns the values in scope, without those that are left out.
func (l *lineup) atomsIn(s scope) []atom {
	var all []atom
	for pick, c := range l.picks {
		for p, a := range c.atomsOf(s.column) {
			if a != (atom{}) && l.isInScope(l.firstPlayer[pick]+p, s) {
				all = append(all, a)
			}
		}
	}
	return all
}

// decidingAge returns the age that decides the steps of rules. For Each that is the youngest ticket's, whose steps are
// the narrowest. Players of an open match do not wait: their age does not count.
func (l *lineup) decidingAge(a profile.Age) time.Duration {
	s := l.spanWith(nil)
	// Nobody waits.
	if s.earliest > s.latest {
		return 0
	}
	switch a {
	case profile.Oldest:
		return time.Duration(l.nowNanos - s.earliest)
	case profile.Mean:
		return l.meanAge()
	default: // Youngest, Each
		return time.Duration(l.nowNanos - s.latest)
	}
}

// meanAge returns the mean age of the tickets that wait, whatever their sizes. There must be one.
func (l *lineup) meanAge() time.Duration {
	var total time.Duration
	n := 0
	for _, c := range l.picks {
		if !c.isSeated {
			total += l.ageOf(c)
			n++
		}
	}
	return total / time.Duration(n)
}

// widestAge returns the greatest age that may decide for a match with the picks and c. Older tickets that join later
// would widen it further; such a match is found when the oldest of them is the seed.
func (l *lineup) widestAge(a profile.Age, c *candidate) time.Duration {
	s := l.spanWith(c)
	// Nobody waits.
	if s.earliest > s.latest {
		return 0
	}
	// The youngest ticket cannot become older by others that join. For the mean, the oldest is the bound: the mean of a
	// match that is still to be filled is not known, and never above it.
	if a == profile.Youngest {
		return time.Duration(l.nowNanos - s.latest)
	}
	return time.Duration(l.nowNanos - s.earliest)
}

// waitingPlayers returns the number of players that wait, without those of an open match.
func (l *lineup) waitingPlayers() (n int) {
	for _, c := range l.picks {
		if !c.isSeated {
			n += c.playerCount
		}
	}
	return n
}

// commonModes returns the modes that all picks allow.
func (l *lineup) commonModes() uint8 {
	modes := ^uint8(0)
	for _, c := range l.picks {
		modes &= c.allowedModes
	}
	return modes
}

// hasPlayerOf reports whether a player of c is in the line-up already, by another ticket.
func (l *lineup) hasPlayerOf(c *candidate) bool {
	for _, pick := range l.picks {
		// Most tickets have no bit in common: their subs need not be compared.
		if pick.subBits&c.subBits == 0 {
			continue
		}
		for i := range c.ticket.Players {
			for j := range pick.ticket.Players {
				if pick.ticket.Players[j].Sub == c.ticket.Players[i].Sub {
					return true
				}
			}
		}
	}
	return false
}
