package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// addTeams numbers the roles of all teams in the order of their names, and counts how many players a match needs in
// each.
func (pl *plan) addTeams() {
	p := pl.profile
	pl.maySplit = len(p.Teams) > 0
	for i := range p.Teams {
		for _, r := range p.Teams[i].Roles {
			pl.roleNames = append(pl.roleNames, r.Name)
		}
	}
	slices.Sort(pl.roleNames)
	pl.roleNames = slices.Compact(pl.roleNames)
	pl.traitNeeds, pl.roleMost = make([]int, len(pl.roleNames)), make([]int, len(pl.roleNames))
	for i := range p.Teams {
		t := team{spec: &p.Teams[i]}
		for _, r := range t.spec.Roles {
			role := pl.roleNumber(r.Name)
			t.roleNeeds = append(t.roleNeeds, roleNeed{role, r.Min, r.Max})
			pl.traitNeeds[role] += r.Min
			pl.roleMost[role] = max(pl.roleMost[role], r.Min)
			// The role has places that need not be filled, and rules look at who has it: see castAndJudge.
			pl.mayLeaveRoles = pl.mayLeaveRoles || r.Max > r.Min && (looksAtRoles(p.Rules) || looksAtRoles(p.Preferred()))
		}
		pl.maxPlayers += t.spec.Max
		// All teams must allow it: the search splits parties over any teams, or none.
		pl.maySplit = pl.maySplit && t.spec.AllowSplit
		pl.teams = append(pl.teams, t)
		pl.teams[i].classIndex = pl.classOf(i)
	}
}

// classOf returns the first team that the profile does not tell apart from team i.
func (pl *plan) classOf(i int) int {
	for j := range i {
		if pl.areAlike(pl.teams[j].spec, pl.teams[i].spec) {
			return j
		}
	}
	return i
}

// areAlike reports whether nothing in the profile tells two teams apart but their names.
func (pl *plan) areAlike(a, b *profile.Team) bool {
	if a.Min != b.Min || a.Max != b.Max || a.Step != b.Step || a.AllowSplit != b.AllowSplit ||
		!slices.Equal(a.Roles, b.Roles) {
		return false
	}
	for _, f := range pl.profile.LeastSteps() {
		x, hasX := f.Players[a.Name]
		y, hasY := f.Players[b.Name]
		if x != y || hasX != hasY {
			return false
		}
	}
	// A preference tells teams apart as well: a search with it among the rules must try both.
	rules := slices.Concat(pl.profile.Rules, pl.profile.Preferred())
	return !namesTeam(rules, a.Name) && !namesTeam(rules, b.Name)
}

// looksAtRoles reports whether a rule looks at players in a role.
func looksAtRoles(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		return r.Role != "" || r.Rates() || looksAtRoles(r.Rules)
	})
}

// namesTeam reports whether a rule measures that team alone.
func namesTeam(rules []profile.Rule, team string) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		c := r.Compare
		return c != nil && (c.Measure.Team == team || c.Against != nil && c.Against.Team == team) ||
			namesTeam(r.Rules, team)
	})
}

// mayHaveNoRole reports whether a match may have players in no role.
func (pl *plan) mayHaveNoRole() bool {
	return slices.ContainsFunc(pl.teams, func(t team) bool {
		needed := 0
		for _, need := range t.roleNeeds {
			needed += need.minPlayers
		}
		return needed < t.spec.Max
	})
}
