package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// compileRule prepares a rule and those that it consists of.
func (pl *plan) compileRule(p *profile.Rule) *rule {
	return &rule{id: p.ID, ageKind: p.Age, baseLimits: p.Limits, limitSteps: p.Widen, looksAtTeams: looksAtTeams(p),
		isFirm: isFirm(p), condition: pl.newCondition(p)}
}

// looksAtTeams reports whether a rule looks at teams or roles: it can be judged only when players have them.
func looksAtTeams(p *profile.Rule) bool {
	switch p.Kind {
	case profile.Balance, profile.Sizes, profile.PartySizes:
		return true
	case profile.Comparison:
		// A measure of the whole match needs no teams, unless it is about roles.
		return p.Role != "" || p.Rates() || p.Compare.Measure.Team != "" ||
			p.Compare.Against != nil && p.Compare.Against.Team != ""
	case profile.Or, profile.And, profile.Not:
		return slices.ContainsFunc(p.Rules, func(r profile.Rule) bool { return looksAtTeams(&r) })
	default:
		return p.Role != "" || p.PerTeam || p.Rates()
	}
}

// isFirm reports whether teams that break a rule break it whoever joins them.
func isFirm(p *profile.Rule) bool {
	// A rule on the match is judged before it has teams; who has a role is known when the teams are full.
	if !p.PerTeam || p.Role != "" {
		return false
	}
	// A player who joins may change the roles of the others, and with them their numbers.
	if p.Rates() {
		return false
	}
	// A mean moves with each player, and too few of a count may become enough.
	return p.Kind == profile.Near && !p.FromMean || p.Kind == profile.Same || p.Kind == profile.Different ||
		p.Kind == profile.Avoid
}

// newCondition prepares what a rule compares, by its kind. It adds the columns that are needed to the plan.
func (pl *plan) newCondition(p *profile.Rule) condition {
	s := pl.scopeOf(p)
	col := column{ruleID: p.ID, attribute: p.Attribute, missing: p.Missing, onlyRole: s.onlyRole,
		isOptional: p.Missing.Pass}
	switch p.Kind {
	case profile.Near:
		s.column, s.byRole = pl.numberColumn(col), pl.columnsByRole(p.ByRole, col)
		n := &near{scope: s, perTeam: p.PerTeam, fromMean: p.FromMean, toleranceColumn: noColumn,
			mayHaveNoRole: pl.mayHaveNoRole()}
		if p.Tolerance != "" {
			// Optional: a ticket without a tolerance has the limit of the rule.
			n.toleranceColumn = pl.numberColumn(column{attribute: p.Tolerance, onlyRole: anyRole, isOptional: true})
		}
		return n
	case profile.Balance:
		s.column, s.byRole = pl.numberColumn(col), pl.columnsByRole(p.ByRole, col)
		return &balance{scope: s, teamFold: p.Teams}
	case profile.Sizes:
		return &sizes{}
	case profile.PartySizes:
		return &sizes{ofParties: true}
	case profile.Comparison:
		return pl.newComparison(p, s, col)
	case profile.Same, profile.Different:
		s.column = addColumn(&pl.atomColumns, col)
		if p.Kind == profile.Same {
			return &same{scope: s, perTeam: p.PerTeam}
		}
		// A search keeps places for rare values of these: see variety.
		pl.differentColumns = append(pl.differentColumns, s.column)
		return &different{scope: s, perTeam: p.PerTeam}
	case profile.Common:
		s.column = addColumn(&pl.listColumns, col)
		return &common{scope: s, attribute: p.Attribute}
	case profile.Count:
		// Not nil, also without texts: the column counts, and must not be taken for one of numbers.
		col.anyOf = append([]string{}, p.AnyOf...)
		s.column = pl.numberColumn(col)
		return &count{scope: s, perTeam: p.PerTeam}
	case profile.Latency:
		// Regions are ranked by the worst latency then: see rankRegions.
		pl.limitsLatency = true
		return &latency{scope: s, takesMean: p.TakeMean, missing: p.Missing}
	case profile.Avoid:
		return &avoid{profile: pl.profile, attribute: p.Attribute, perTeam: p.PerTeam}
	case profile.Or, profile.And, profile.Not:
		return pl.newCompound(p)
	}
	return always{}
}

// scopeOf returns the players whom a rule is about.
func (pl *plan) scopeOf(p *profile.Rule) scope {
	s := scope{partyFold: p.Party, onlyRole: anyRole, onlyTeam: anyTeam}
	if p.Role != "" {
		s.onlyRole = pl.roleNumber(p.Role)
		if s.onlyRole < 0 {
			s.onlyRole = len(pl.roleNames) // a role that no team has: nobody is in it
		}
	}
	return s
}

// newComparison compiles a comparison of a measure with a number or with another measure.
func (pl *plan) newComparison(p *profile.Rule, s scope, col column) condition {
	c := &compare{measure: pl.newMeasure(&p.Compare.Measure, s, col), operator: p.Compare.Operator}
	if p.Compare.Against != nil {
		to := pl.newMeasure(p.Compare.Against, s, col)
		c.otherMeasure = &to
	}
	return c
}

// newMeasure compiles a measure; s and col are those of its rule.
func (pl *plan) newMeasure(m *profile.Measure, s scope, col column) measure {
	col.attribute = m.Attribute
	if m.Take == profile.FoldCount {
		// Players without a value are not counted, and their ticket is a candidate.
		col.countsPresence, col.isOptional = true, true
	}
	s.column, s.byRole = pl.numberColumn(col), pl.columnsByRole(m.ByRole, col)
	if m.Team != "" {
		s.onlyTeam = pl.teamNamed(m.Team)
	}
	return measure{s, m.Take}
}

// newCompound compiles a rule that consists of others.
func (pl *plan) newCompound(p *profile.Rule) condition {
	latency := pl.limitsLatency // compiling a rule within sets it
	rules := make([]*rule, len(p.Rules))
	for i := range p.Rules {
		rules[i] = pl.compileRule(&p.Rules[i])
	}
	if p.Kind == profile.And {
		return &and{rules}
	}
	pl.limitsLatency = latency // a limit that need not hold does not decide between regions
	if p.Kind == profile.Or {
		return &or{rules}
	}
	// A profile has exactly one rule below not; an and of it has its verdict, at the age of the whole.
	return &not{&rule{ageKind: p.Age, condition: &and{rules}}}
}

// ratesRoles reports whether a rule compares numbers that depend on roles.
func ratesRoles(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool { return r.Rates() || ratesRoles(r.Rules) })
}

// columnsByRole returns by role the column of players in the role, which is like col; nil if all roles have the same one.
func (pl *plan) columnsByRole(all []profile.RoleAttribute, col column) []int {
	if len(all) == 0 {
		return nil
	}
	columns := slices.Repeat([]int{pl.numberColumn(col)}, len(pl.roleNames))
	for _, by := range all {
		own := col
		own.attribute, own.onlyRole = by.Attribute, pl.roleNumber(by.Role)
		// Nobody is in a role that no team has.
		if own.onlyRole >= 0 {
			columns[own.onlyRole] = pl.numberColumn(own)
		}
	}
	return columns
}
