package verifytest

import "github.com/lattice-director/director/match/profile"

// drawCompare draws what a comparison compares with what.
func (d ruleDrawer) drawCompare(r *profile.Rule) {
	c := &profile.Compare{Measure: d.drawMeasure(profile.FoldEach, profile.FoldSum),
		Operator: profile.Operator(1 + d.drawUpTo("is", 5))}
	if d.drawFlag("to a measure") {
		against := d.drawMeasure(profile.FoldSum)
		c.Against = &against
	}
	r.Limits.Number = float64(d.drawUpTo("to", 4))
	r.Compare = c
	d.drawMissing(r, numberAttributes[0])
}

// drawMeasure draws a measure that takes the mean, the least, the greatest, a count, or one of these folds.
func (d ruleDrawer) drawMeasure(also ...profile.Fold) profile.Measure {
	m := profile.Measure{
		Take: pickOne(d, "take", append(also, profile.FoldMean, profile.FoldMin, profile.FoldMax,
			profile.FoldCount)...),
		Attribute: pickOne(d, "of", numberAttributes...),
	}
	if m.Take == profile.FoldCount {
		m.Attribute = pickOne(d, "count of", "", numberAttributes[0], textAttributes[0])
	}
	if m.Take != profile.FoldCount && d.p.Teams[0].Roles != nil && d.drawUpTo("by role", 3) == 0 {
		m.ByRole = d.drawByRole()
	}
	if d.drawFlag("in a team") {
		m.Team = pickOne(d, "in", d.p.Teams...).Name
	}
	return m
}
