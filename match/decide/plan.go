package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// plan is a profile prepared for the search: attributes have columns, roles have numbers, and rules can be judged.
type plan struct {
	profile *profile.Profile
	rules   []*rule
	order   []preference
	teams   []team
	roles   []string // in order of their names

	numbers []column // of float64
	atoms   []column // of texts and numbers that are compared for equality
	lists   []column

	pivot    pivot
	buckets  []int           // atom columns that divide candidates
	least    []leastStep     // ascending
	moments  []time.Duration // the ages at which anything changes, ascending
	batch    int             // number column of the profile's batch; -1: the oldest seeds first
	balanced int             // number column by which teams are made equal; -1: none

	most      int   // players of a match
	split     bool  // a party may be in several teams
	roleNeeds []int // by role: of all teams
	modes     uint8 // a bit for each of the profile's modes
	latency   bool  // a rule of its own limits latency
	// mayLeaveRoles says that a match may be valid only if fewer players than possible have a role: rules look at those who have it.
	mayLeaveRoles bool
}

// team is a team of the profile.
type team struct {
	spec  *profile.Team
	roles []roleNeed
	class int // teams of a class are interchangeable: nothing in the profile tells them apart
}

type roleNeed struct{ role, min, max int }

// pivot is the number along which candidates are sorted: what the first `near` rule compares, else the ticket's age.
type pivot struct {
	rule   *rule // nil: age
	column int
	fold   profile.Fold
	factor float64 // a seed's window reaches so many times the rule's limit; 0: it is not limited by the rule
}

// leastStep is the least size of each team from an age on.
type leastStep struct {
	after time.Duration
	teams []int
	sum   int
}

// preference is one criterion of the profile's order.
type preference struct {
	column     int
	distance   bool
	descending bool
}

// column is an attribute of players as a rule wants it.
type column struct {
	rule      string
	attribute string
	missing   profile.Missing
	role      int      // only of players in that role; anyRole
	optional  bool     // players without it are left out, and their ticket is a candidate
	anyOf     []string // the number is 1 for players that have one of these, 0 for others
	present   bool     // the number is 1 for players that have a value of any type, without an attribute for all
}

func newPlan(p *profile.Profile) *plan {
	pl := &plan{profile: p, batch: -1, pivot: pivot{column: -1}}
	pl.addTeams()
	for i := range p.Rules {
		pl.rules = append(pl.rules, pl.compile(&p.Rules[i]))
	}
	pl.choosePivot()
	pl.chooseBalanced()
	pl.chooseBuckets()
	for _, o := range p.Order {
		attribute := o.Distance
		if attribute == "" {
			attribute = o.Value
		}
		pl.order = append(pl.order, preference{pl.number(column{attribute: attribute, role: anyRole, optional: true}), o.Distance != "", o.Descending})
	}
	if p.Batch.By != "" {
		pl.batch = pl.number(column{attribute: p.Batch.By, role: anyRole, optional: true})
	}
	pl.modes = uint8(1<<len(p.Modes) - 1)
	pl.addSteps()
	return pl
}

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
	pl.roleNeeds = make([]int, len(pl.roles))
	for i := range p.Teams {
		t := team{spec: &p.Teams[i]}
		for _, r := range t.spec.Roles {
			role := pl.role(r.Name)
			t.roles = append(t.roles, roleNeed{role, r.Min, r.Max})
			pl.roleNeeds[role] += r.Min
			pl.mayLeaveRoles = pl.mayLeaveRoles || r.Max > r.Min && aboutRoles(p.Rules)
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
	return !names(pl.profile.Rules, a.Name) && !names(pl.profile.Rules, b.Name)
}

// aboutRoles reports whether a rule looks at players in a role.
func aboutRoles(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool { return r.Role != "" || aboutRoles(r.Rules) })
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

// number returns the column of numbers that is like c, a new one if there is none.
func (pl *plan) number(c column) int { return addColumn(&pl.numbers, c) }

func addColumn(columns *[]column, c column) int {
	for i := range *columns {
		if (*columns)[i].like(&c) {
			return i
		}
	}
	*columns = append(*columns, c)
	return len(*columns) - 1
}

func (c *column) like(o *column) bool {
	return c.attribute == o.attribute && c.missing == o.missing && c.role == o.role && c.optional == o.optional && c.present == o.present &&
		slices.Equal(c.anyOf, o.anyOf)
}

// choosePivot takes the first `near` rule that is not part of another. Its limit gives seeds a window unless it compares
// only some of the players.
func (pl *plan) choosePivot() {
	for _, r := range pl.rules {
		n, ok := r.condition.(*near)
		if !ok {
			continue
		}
		pl.pivot = pivot{rule: r, column: n.column, fold: n.fold, factor: 1}
		if n.fromMean {
			pl.pivot.factor = 2
		}
		if n.perTeam || n.role != anyRole || pl.numbers[n.column].optional {
			pl.pivot.factor = 0
		}
		return
	}
}

// chooseBalanced takes the first `balance` rule's numbers, else the pivot's.
func (pl *plan) chooseBalanced() {
	pl.balanced = pl.pivot.column
	for _, r := range pl.rules {
		if b, ok := r.condition.(*balance); ok {
			pl.balanced = b.column
			return
		}
	}
}

// chooseBuckets takes the `same` rules that always divide all players.
func (pl *plan) chooseBuckets() {
	for _, r := range pl.rules {
		s, ok := r.condition.(*same)
		if ok && len(r.steps) == 0 && !s.perTeam && s.role == anyRole && !pl.atoms[s.column].optional && len(pl.buckets) < maxBucketColumns {
			pl.buckets = append(pl.buckets, s.column)
		}
	}
}

func (pl *plan) addSteps() {
	p := pl.profile
	base := leastStep{after: math.MinInt64, teams: make([]int, len(p.Teams))}
	for i := range p.Teams {
		base.teams[i] = p.Teams[i].Min
	}
	pl.least = []leastStep{base}
	for _, f := range p.Fewer {
		step := leastStep{after: f.After, teams: slices.Clone(pl.least[len(pl.least)-1].teams)}
		for i := range p.Teams {
			if n, ok := f.Players[p.Teams[i].Name]; ok {
				step.teams[i] = n
			}
		}
		pl.least = append(pl.least, step)
		pl.moments = append(pl.moments, f.After)
	}
	for i := range pl.least {
		for _, n := range pl.least[i].teams {
			pl.least[i].sum += n
		}
	}
	if pl.batch >= 0 {
		pl.moments = append(pl.moments, p.Batch.For)
	}
	pl.moments = appendMoments(pl.moments, p.Rules)
	slices.Sort(pl.moments)
	pl.moments = slices.Compact(pl.moments)
}

func appendMoments(to []time.Duration, rules []profile.Rule) []time.Duration {
	for i := range rules {
		for _, s := range rules[i].Widen {
			to = append(to, s.After)
		}
		to = appendMoments(to, rules[i].Rules)
	}
	return to
}

// leastAt returns the least sizes of the teams of a match of that age.
func (pl *plan) leastAt(age time.Duration) *leastStep {
	i := len(pl.least) - 1
	for i > 0 && age < pl.least[i].after {
		i--
	}
	return &pl.least[i]
}

// momentAfter returns the index of the first moment after an age.
func (pl *plan) momentAfter(age time.Duration) int {
	i, _ := slices.BinarySearch(pl.moments, age+1)
	return i
}

// value returns a player's value of an attribute: its own if it has the declared type, else the profile's default.
func (pl *plan) value(p *match.Player, attribute string) (v match.Value, ok bool) {
	declared, isDeclared := pl.profile.Attributes[attribute]
	v, ok = p.Attributes[attribute]
	if ok && (!isDeclared || v.Kind == declared.Kind) {
		return v, true
	}
	if isDeclared && declared.Default != nil {
		return *declared.Default, true
	}
	return match.Value{}, false
}
