package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// team is a team of the profile.
type team struct {
	spec  *profile.Team
	roles []roleNeed
	class int // teams of a class are interchangeable: nothing in the profile tells them apart
}

type roleNeed struct{ role, min, max int }

func (pl *plan) addTeams() {
	p := pl.profile
	pl.split = len(p.Teams) > 0
	for i := range p.Teams {
		for _, r := range p.Teams[i].Roles {
			pl.roles = append(pl.roles, r.Name)
		}
	}
	slices.Sort(pl.roles)
	pl.roles = slices.Compact(pl.roles)
	pl.traitNeeds, pl.roleMost = make([]int, len(pl.roles)), make([]int, len(pl.roles))
	for i := range p.Teams {
		t := team{spec: &p.Teams[i]}
		for _, r := range t.spec.Roles {
			role := pl.role(r.Name)
			t.roles = append(t.roles, roleNeed{role, r.Min, r.Max})
			pl.traitNeeds[role] += r.Min
			pl.roleMost[role] = max(pl.roleMost[role], r.Min)
			pl.mayLeaveRoles = pl.mayLeaveRoles || r.Max > r.Min && (aboutRoles(p.Rules) || aboutRoles(p.Preferred()))
		}
		pl.most += t.spec.Max
		pl.split = pl.split && t.spec.AllowSplit
		pl.teams = append(pl.teams, t)
		pl.teams[i].class = pl.classOf(i)
	}
}

// classOf returns the first team that the profile does not tell apart from team i.
func (pl *plan) classOf(i int) int {
	for j := range i {
		if pl.alike(pl.teams[j].spec, pl.teams[i].spec) {
			return j
		}
	}
	return i
}

func (pl *plan) alike(a, b *profile.Team) bool {
	if a.Min != b.Min || a.Max != b.Max || a.Step != b.Step || a.AllowSplit != b.AllowSplit || !slices.Equal(a.Roles, b.Roles) {
		return false
	}
	for _, f := range pl.profile.Fewer {
		x, hasX := f.Players[a.Name]
		y, hasY := f.Players[b.Name]
		if x != y || hasX != hasY {
			return false
		}
	}
	rules := slices.Concat(pl.profile.Rules, pl.profile.Preferred())
	return !names(rules, a.Name) && !names(rules, b.Name)
}

// aboutRoles reports whether a rule looks at players in a role.
func aboutRoles(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool { return r.Role != "" || r.Rates() || aboutRoles(r.Rules) })
}

// names reports whether a rule measures that team alone.
func names(rules []profile.Rule, team string) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		c := r.Compare
		return c != nil && (c.Measure.In == team || c.To != nil && c.To.In == team) || names(r.Rules, team)
	})
}

func (pl *plan) role(name string) int { return slices.Index(pl.roles, name) }

func (pl *plan) teamNamed(name string) int {
	return slices.IndexFunc(pl.profile.Teams, func(t profile.Team) bool { return t.Name == name })
}
