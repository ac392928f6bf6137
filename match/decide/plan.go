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
	// preferred are the profile's preferences, and preferredSets all sets of them, the heaviest first.
	preferred     []preferred
	preferredSets []preferredSet
	order         []preference
	teams         []team
	roles         []string // in order of their names

	numbers []column // of float64
	atoms   []column // of texts and numbers that are compared for equality
	lists   []column

	pivot      pivot
	buckets    []int           // atom columns that divide candidates
	leastSteps []leastStep     // ascending
	moments    []time.Duration // the ages at which anything changes, ascending
	trades     []trade
	batch      int // number column of the profile's batch; -1: the oldest seeds first
	// priority is the number column of the profile's priority; noColumn.
	priority int
	even     evenness

	maxPlayers int  // players of a match
	split      bool // a party may be in several teams
	// Traits are what a match needs so many players with: first the roles, then the texts of rules that count.
	traitNeeds []int // by trait: of all teams
	roleMost   []int // by role: the greatest number that one team needs
	counted    []int // by trait after the roles: the number column of a rule that counts
	distinct   []int // the atom columns of `different` rules
	modes      uint8 // a bit for each of the profile's modes
	latency    bool  // a rule of its own limits latency
	rates      bool  // a rule compares numbers that depend on the role that a player gets
	// byMean says that steps go by the mean age of a match: it passes them at times that no ticket knows.
	byMean bool
	// mayLeaveRoles says that a match may be valid only if fewer players than possible have a role: rules look at those
	// who have it.
	mayLeaveRoles bool
}

// pivot is the number along which candidates are sorted: what the first `near` rule compares, else the first one that
// is traded, else what the first `balance` rule compares, else the ticket's age.
type pivot struct {
	rule   *rule // nil: no rule limits it
	column int
	byRole []int // as of a scope
	fold   profile.Fold
	factor float64 // a seed's window reaches so many times the rule's limit; 0: it is not limited by the rule
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
	pl := &plan{profile: p, batch: -1, priority: noColumn, pivot: pivot{column: -1}}
	// The order matters: teams number the roles that rules name; the pivot is chosen among compiled rules and trades,
	// and what teams are made even by from the pivot; steps come after the batch, whose end is one of their moments.
	pl.addTeams()
	for i := range p.Rules {
		pl.rules = append(pl.rules, pl.compile(&p.Rules[i]))
	}
	pl.addPreferred()
	pl.addCounted()
	pl.addTrades()
	pl.choosePivot()
	pl.chooseEven()
	pl.chooseBuckets()
	for _, o := range p.Order {
		attribute := o.Distance
		if attribute == "" {
			attribute = o.Value
		}
		pl.order = append(pl.order, preference{pl.number(column{attribute: attribute, role: anyRole, optional: true}),
			o.Distance != "", o.Descending})
	}
	if p.Batch.Attribute != "" {
		pl.batch = pl.number(column{attribute: p.Batch.Attribute, role: anyRole, optional: true})
	}
	if p.Priority.Attribute != "" {
		pl.priority = pl.number(column{attribute: p.Priority.Attribute, role: anyRole, optional: true})
	}
	pl.rates = rates(p.Rules) || rates(p.Preferred())
	pl.byMean = byMean(p.Rules) || p.Age == profile.Mean && len(p.LeastSteps()) > 0
	pl.modes = uint8(1<<len(p.Modes) - 1)
	pl.addSteps()
	return pl
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
	return c.attribute == o.attribute && c.missing == o.missing && c.role == o.role && c.optional == o.optional &&
		c.present == o.present &&
		slices.Equal(c.anyOf, o.anyOf)
}

// choosePivot takes the first `near` rule that is not part of another. Its limit gives seeds a window unless it
// compares only some of the players. Without one, numbers that are traded or balanced make near candidates the better
// ones, without a window.
func (pl *plan) choosePivot() {
	for _, r := range allOf(pl.rules) {
		n, ok := r.condition.(*near)
		if !ok {
			continue
		}
		pl.pivot = pivot{rule: r, column: n.scope.column, byRole: n.scope.byRole, fold: n.scope.fold, factor: 1}
		if n.fromMean {
			pl.pivot.factor = 2
		}
		if n.perTeam || n.scope.role != anyRole || n.scope.byRole != nil || pl.numbers[n.scope.column].optional {
			pl.pivot.factor = 0
		}
		return
	}
	for _, t := range pl.trades {
		if t.column >= 0 {
			pl.pivot = pivot{column: t.column}
			return
		}
	}
	for _, r := range pl.rules {
		if b, ok := r.condition.(*balance); ok && b.scope.role == anyRole {
			pl.pivot = pivot{column: b.scope.column, byRole: b.scope.byRole, fold: b.scope.fold}
			return
		}
	}
}

// chooseEven takes the first balance rule's numbers, else those of one that is preferred, else the pivot's.
func (pl *plan) chooseEven() {
	pl.even = evenness{pl.pivot.column, pl.pivot.byRole, pl.pivot.fold, profile.FoldMean}
	for _, r := range pl.preferredSet(func(int) bool { return true }).rules {
		if b, ok := r.condition.(*balance); ok && b.scope.role == anyRole {
			pl.even = evenness{b.scope.column, b.scope.byRole, b.scope.fold, b.teams}
			return
		}
	}
}

// addCounted makes traits of what a match needs a least number of players with.
func (pl *plan) addCounted() {
	for _, r := range allOf(pl.rules) {
		k, ok := r.condition.(*count)
		if !ok || k.scope.role != anyRole || r.base.Min == 0 {
			continue
		}
		least := r.base.Min
		for _, s := range r.steps {
			if least = min(least, s.Limits.Min); s.Limits.Ended {
				least = 0
			}
		}
		if k.perTeam {
			least *= len(pl.teams)
		}
		pl.counted, pl.traitNeeds = append(pl.counted, k.scope.column), append(pl.traitNeeds, least)
	}
}

// roleNeeds returns by role the least number of players that have it, of all teams.
func (pl *plan) roleNeeds() []int { return pl.traitNeeds[:len(pl.roles)] }

// chooseBuckets takes the `same` rules that always divide all players.
func (pl *plan) chooseBuckets() {
	for _, r := range allOf(pl.rules) {
		s, ok := r.condition.(*same)
		if ok && len(r.steps) == 0 && !s.perTeam && s.scope.role == anyRole && !pl.atoms[s.scope.column].optional &&
			len(pl.buckets) < maxBucketColumns {
			pl.buckets = append(pl.buckets, s.scope.column)
		}
	}
}

// allOf returns the rules that must all hold at any time: those of an `and` that never ends stand for it.
func allOf(rules []*rule) (all []*rule) {
	for _, r := range rules {
		if a, ok := r.condition.(*and); ok && len(r.steps) == 0 {
			all = append(all, allOf(a.rules)...)
		} else {
			all = append(all, r)
		}
	}
	return all
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
		pl.maxPlayers += t.spec.Max
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
	rules := slices.Concat(pl.profile.Rules, pl.profile.Preferred())
	return !names(rules, a.Name) && !names(rules, b.Name)
}

// aboutRoles reports whether a rule looks at players in a role.
func aboutRoles(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		return r.Role != "" || r.Rates() ||
			aboutRoles(r.Rules)
	})
}

// names reports whether a rule measures that team alone.
func names(rules []profile.Rule, team string) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		c := r.Compare
		return c != nil && (c.Measure.Team == team || c.Against != nil && c.Against.Team == team) ||
			names(r.Rules, team)
	})
}

func (pl *plan) role(name string) int { return slices.Index(pl.roles, name) }

func (pl *plan) teamNamed(name string) int {
	return slices.IndexFunc(pl.profile.Teams, func(t profile.Team) bool { return t.Name == name })
}

// leastStep is the least size of each team from an age on.
type leastStep struct {
	minAge time.Duration
	teams  []int
	sum    int
}

func byMean(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		return r.Age == profile.Mean && len(r.Widen) > 0 ||
			byMean(r.Rules)
	})
}

func (pl *plan) addSteps() {
	p := pl.profile
	base := leastStep{minAge: math.MinInt64, teams: make([]int, len(p.Teams))}
	for i := range p.Teams {
		base.teams[i] = p.Teams[i].Min
	}
	pl.leastSteps = []leastStep{base}
	for _, f := range p.LeastSteps() {
		step := leastStep{minAge: f.AfterWait, teams: slices.Clone(pl.leastSteps[len(pl.leastSteps)-1].teams)}
		for i := range p.Teams {
			if n, ok := f.Players[p.Teams[i].Name]; ok {
				step.teams[i] = n
			}
		}
		pl.leastSteps = append(pl.leastSteps, step)
		pl.moments = append(pl.moments, f.AfterWait)
	}
	for i := range pl.leastSteps {
		for _, n := range pl.leastSteps[i].teams {
			pl.leastSteps[i].sum += n
		}
	}
	if p.Autofill > 0 {
		pl.moments = append(pl.moments, p.Autofill)
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
			to = append(to, s.AfterWait)
		}
		to = appendMoments(to, rules[i].Rules)
	}
	return to
}

// leastAt returns the least sizes of the teams of a match of that age.
func (pl *plan) leastAt(age time.Duration) *leastStep {
	i := len(pl.leastSteps) - 1
	for i > 0 && age < pl.leastSteps[i].minAge {
		i--
	}
	return &pl.leastSteps[i]
}

// momentAfter returns the index of the first moment after an age.
func (pl *plan) momentAfter(age time.Duration) int {
	i, _ := slices.BinarySearch(pl.moments, age+1)
	return i
}
