package decide

import (
	"math"

	"github.com/lattice-director/director/match/profile"
)

// compare holds if a measure of the match or of a team compares with a number or with another measure as the operator
// says.
type compare struct {
	measure      measure
	operator     profile.Operator
	otherMeasure *measure // nil: the limit
}

// measure is a number of the match or of a team, or one of each player.
type measure struct {
	scope    scope
	takeFold profile.Fold
}

// admitsCandidate finds numbers that no further player mends: of each player, or the greatest or the least of the
// match.
func (c *compare) admitsCandidate(_ *lineup, other *candidate, lim *profile.Limits) bool {
	m := &c.measure
	if c.otherMeasure != nil || m.scope.onlyRole != anyRole || m.scope.byRole != nil || m.scope.onlyTeam != anyTeam ||
		!c.isFirm() {
		return true
	}
	// The ticket is judged alone, as the others were when they were taken.
	low, high := other.numberSpan(m.scope.column, m.scope.partyFold)
	return low > high || comparisonHolds(c.operator, low, lim.Number) && comparisonHolds(c.operator, high, lim.Number)
}

// mayFail implements refutable. Where each player's number must compare, a further player may break the rule, so that
// only the least or the greatest number of the match can satisfy it for good.
func (c *compare) mayFail(l *lineup, other *candidate, lim *profile.Limits) bool {
	opposite := *c
	opposite.operator = opposites[c.operator]
	return c.measure.takeFold == profile.FoldEach || opposite.admitsCandidate(l, other, lim)
}

// isFirm reports whether a player's number that does not compare breaks the rule, whoever else is in the match.
func (c *compare) isFirm() bool {
	switch c.measure.takeFold {
	case profile.FoldEach:
		return true
	case profile.FoldMax:
		return c.operator == profile.Less || c.operator == profile.LessOrEqual
	case profile.FoldMin:
		return c.operator == profile.Greater || c.operator == profile.GreaterOrEqual
	default:
		return false
	}
}

func (c *compare) judgeLineup(l *lineup, lim *profile.Limits) verdict {
	l.scratchValues = c.measure.valuesOf(l, l.scratchValues[:0])
	l.moreValues = append(l.moreValues[:0], lim.Number)
	if c.otherMeasure != nil {
		l.moreValues = c.otherMeasure.valuesOf(l, l.moreValues[:0])
	}
	return c.worstVerdict(l.scratchValues, l.moreValues)
}

// valuesOf appends the measure's number, or each player's. A mean, least or greatest of nobody has no number, and a
// comparison without numbers holds.
func (m *measure) valuesOf(l *lineup, to []float64) []float64 {
	to = l.gatherNumbers(to, m.scope)
	switch {
	case m.takeFold == profile.FoldEach:
		return to
	case m.takeFold == profile.FoldCount:
		return append(to[:0], float64(len(to)))
	case len(to) == 0 && m.takeFold == profile.FoldSum:
		return append(to, 0)
	case len(to) == 0:
		return to
	}
	return append(to[:0], foldValues(to, m.takeFold))
}

// worstVerdict returns the verdict of the pair that is farthest from holding, or nearest to not holding: all must hold.
func (c *compare) worstVerdict(left, right []float64) verdict {
	worst := verdict{holdingRegions: everywhere}
	for i, x := range left {
		for j, y := range right {
			v := c.judgePair(x, y)
			if i+j == 0 || v.excess > worst.excess ||
				v.excess == worst.excess && math.Abs(v.limit-v.value) < math.Abs(worst.limit-worst.value) {
				worst = v
			}
		}
	}
	return worst
}

func (c *compare) judgePair(x, y float64) verdict {
	v := verdict{holdingRegions: everywhere, value: x, limit: y}
	if !comparisonHolds(c.operator, x, y) {
		// Never 0, which < and != would have at equal numbers: 0 says that the rule holds.
		v.holdingRegions, v.excess = 0, math.Max(math.Abs(x-y)/(1+math.Abs(y)), 1e-9)
	}
	return v
}

// opposites are the operators of comparisons that hold where others do not.
var opposites = map[profile.Operator]profile.Operator{
	profile.Less: profile.GreaterOrEqual, profile.GreaterOrEqual: profile.Less, profile.LessOrEqual: profile.Greater,
	profile.Greater: profile.LessOrEqual, profile.Equal: profile.NotEqual, profile.NotEqual: profile.Equal,
}

func comparisonHolds(operator profile.Operator, x, y float64) bool {
	switch operator {
	case profile.Less:
		return x < y
	case profile.LessOrEqual:
		return x <= y
	case profile.Equal:
		return x == y
	case profile.NotEqual:
		return x != y
	case profile.GreaterOrEqual:
		return x >= y
	case profile.Greater:
		return x > y
	}
	return false
}
