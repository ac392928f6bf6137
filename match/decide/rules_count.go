package decide

import "github.com/lattice-director/director/match/profile"

// count holds if so many players have one of some texts, in the match or in each team.
type count struct {
	scope   scope
	perTeam bool
}

func (k *count) admitsCandidate(l *lineup, c *candidate, lim *profile.Limits) bool {
	// It is not known yet who is in which team or role.
	if k.perTeam || k.scope.onlyRole != anyRole {
		return true
	}
	// Too few may become enough; too many stay too many.
	n := countOnes(c.numbersOf(k.scope.column))
	for _, pick := range l.picks {
		n += countOnes(pick.numbersOf(k.scope.column))
	}
	return n <= float64(lim.Max)
}

// mayFail implements refutable: once there are enough players, no further one takes the count below the least.
func (k *count) mayFail(l *lineup, c *candidate, lim *profile.Limits) bool {
	// With a greatest number, further players may break the rule.
	if lim.Max != profile.NoMax {
		return true
	}
	tooFew := profile.Limits{Max: lim.Min - 1}
	return k.admitsCandidate(l, c, &tooFew)
}

// countOnes returns how many players count: the column has 1 for them.
func countOnes(values []float64) float64 {
	n := 0.0
	for _, x := range values {
		if x == 1 {
			n++
		}
	}
	return n
}

func (k *count) judgeLineup(l *lineup, lim *profile.Limits) verdict {
	worst := verdict{holdingRegions: everywhere, hasEnded: true}
	for _, s := range teamScopes(k.playerScope(), k.perTeam, l) {
		l.scratchValues = l.gatherNumbers(l.scratchValues[:0], s)
		worst = narrowerVerdict(worst, inRange(countOnes(l.scratchValues), lim))
	}
	return worst
}

// playerScope returns the scope without folding: players are counted, not parties.
func (k *count) playerScope() scope {
	s := k.scope
	s.partyFold = profile.FoldEach
	return s
}

// inRange returns the verdict of a count that must be from the least to the greatest.
func inRange(n float64, lim *profile.Limits) verdict {
	if n > float64(lim.Max) {
		return atMost(n, float64(lim.Max))
	}
	v := atMost(float64(lim.Min), n)
	v.value, v.limit = n, float64(lim.Min)
	if lim.Min == 0 { // the bound that can break is the one to show
		v.limit = float64(lim.Max)
	}
	return v
}
