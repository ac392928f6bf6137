package decide

import "github.com/lattice-director/director/match/profile"

// balance holds if the teams' values differ by at most the limit. A team without numbers has no value.
type balance struct {
	scope scope
	teams profile.Fold
}

func (*balance) admits(*lineup, *candidate, *profile.Limits) bool { return true }

func (b *balance) judge(l *lineup, lim *profile.Limits) verdict {
	l.moreValues = l.moreValues[:0]
	for team := range l.teams {
		l.values = l.gather(l.values[:0], b.scope.inTeam(team))
		if len(l.values) > 0 {
			l.moreValues = append(l.moreValues, fold(l.values, b.teams))
		}
	}
	return atMost(spread(l.moreValues), lim.Within)
}

// sizes holds if the sizes of the teams differ by at most the limit, or those of the teams' largest parties.
type sizes struct{ parties bool }

func (*sizes) admits(*lineup, *candidate, *profile.Limits) bool { return true }

func (s *sizes) judge(l *lineup, lim *profile.Limits) verdict {
	l.values = l.values[:0]
	for team := range l.teams {
		n := l.size(team)
		if s.parties {
			n = l.largestParty(team)
		}
		l.values = append(l.values, float64(n))
	}
	return atMost(spread(l.values), lim.Within)
}

// largestParty returns the greatest number of players of one ticket in a team.
func (l *lineup) largestParty(team int) int {
	largest := 0
	for pick := range l.picks {
		n := 0
		from, to := l.playersOf(pick)
		for p := from; p < to; p++ {
			if l.team[p] == team {
				n++
			}
		}
		largest = max(largest, n)
	}
	return largest
}
