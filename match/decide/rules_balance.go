package decide

import "github.com/lattice-director/director/match/profile"

// balance holds if the teams' values differ by at most the limit. A team without numbers has no value.
type balance struct {
	scope    scope
	teamFold profile.Fold
}

// admitsCandidate excludes nobody: teams that are not full can be evened out by those who join them.
func (*balance) admitsCandidate(*lineup, *candidate, *profile.Limits) bool { return true }

func (b *balance) judgeLineup(l *lineup, lim *profile.Limits) verdict {
	l.moreValues = l.moreValues[:0]
	for team := range l.teamCount {
		l.scratchValues = l.gatherNumbers(l.scratchValues[:0], b.scope.inTeam(team))
		if len(l.scratchValues) > 0 {
			l.moreValues = append(l.moreValues, foldValues(l.scratchValues, b.teamFold))
		}
	}
	return atMost(spreadOf(l.moreValues), lim.Within)
}

// sizes holds if the sizes of the teams differ by at most the limit, or those of the teams' largest parties.
type sizes struct{ ofParties bool }

// admitsCandidate excludes nobody: sizes are known when the teams are full.
func (*sizes) admitsCandidate(*lineup, *candidate, *profile.Limits) bool { return true }

func (s *sizes) judgeLineup(l *lineup, lim *profile.Limits) verdict {
	l.scratchValues = l.scratchValues[:0]
	for team := range l.teamCount {
		n := l.teamSize(team)
		if s.ofParties {
			n = l.largestParty(team)
		}
		l.scratchValues = append(l.scratchValues, float64(n))
	}
	return atMost(spreadOf(l.scratchValues), lim.Within)
}
