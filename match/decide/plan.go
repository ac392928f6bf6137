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
	preferred       []preferred
	preferredSets   []preferredSet
	preferenceOrder []preference
	teams           []team
	roleNames       []string // in order of their names

	numberColumns []column // of float64
	atomColumns   []column // of texts and numbers that are compared for equality
	listColumns   []column

	pivot         pivot
	bucketColumns []int           // atom columns that divide candidates
	leastSteps    []leastStep     // ascending
	changeAges    []time.Duration // the ages at which anything changes, ascending
	trades        []trade
	batchColumn   int // number column of the profile's batch; -1: the oldest seeds first
	// priorityColumn is the number column of the profile's priority; noColumn.
	priorityColumn int
	evenBy         evenness

	maxPlayers int  // players of a match
	maySplit   bool // a party may be in several teams
	// Traits are what a match needs so many players with: first the roles, then the texts of rules that count.
	traitNeeds       []int // by trait: of all teams
	roleMost         []int // by role: the greatest number that one team needs
	countedColumns   []int // by trait after the roles: the number column of a rule that counts
	differentColumns []int // the atom columns of `different` rules
	allModes         uint8 // a bit for each of the profile's modes
	limitsLatency    bool  // a rule of its own limits latency
	ratesRoles       bool  // a rule compares numbers that depend on the role that a player gets
	// byMean says that steps go by the mean age of a match: it passes them at times that no ticket knows.
	byMean bool
	// mayLeaveRoles says that a match may be valid only if fewer players than possible have a role: rules look at those
	// who have it.
	mayLeaveRoles bool
}

// pivot is the number along which candidates are sorted: what the first `near` rule compares, else the first one that
// is traded, else what the first `balance` rule compares, else the ticket's age.
type pivot struct {
	rule         *rule // nil: no rule limits it
	numberColumn int
	byRole       []int // as of a scope
	partyFold    profile.Fold
	reachFactor  float64 // a seed's window reaches so many times the rule's limit; 0: it is not limited by the rule
}

// preference is one criterion of the profile's order.
type preference struct {
	numberColumn int
	byDistance   bool
	isDescending bool
}

// column is an attribute of players as a rule wants it.
type column struct {
	ruleID         string
	attribute      string
	missing        profile.Missing
	onlyRole       int      // only of players in that role; anyRole
	isOptional     bool     // players without it are left out, and their ticket is a candidate
	anyOf          []string // the number is 1 for players that have one of these, 0 for others
	countsPresence bool     // the number is 1 for players that have a value of any type, without an attribute for all
}

func newPlan(p *profile.Profile) *plan {
	pl := &plan{profile: p, batchColumn: -1, priorityColumn: noColumn, pivot: pivot{numberColumn: -1}}
	// The order matters: teams number the roles that rules name; the pivot is chosen among compiled rules and trades,
	// and what teams are made even by from the pivot; steps come after the batch, whose end is one of their moments.
	pl.addTeams()
	for i := range p.Rules {
		pl.rules = append(pl.rules, pl.compileRule(&p.Rules[i]))
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
		pl.preferenceOrder = append(pl.preferenceOrder,
			preference{pl.numberColumn(column{attribute: attribute, onlyRole: anyRole, isOptional: true}),
				o.Distance != "", o.Descending})
	}
	if p.Batch.Attribute != "" {
		pl.batchColumn = pl.numberColumn(column{attribute: p.Batch.Attribute, onlyRole: anyRole, isOptional: true})
	}
	if p.Priority.Attribute != "" {
		pl.priorityColumn = pl.numberColumn(column{attribute: p.Priority.Attribute, onlyRole: anyRole,
			isOptional: true})
	}
	pl.ratesRoles = ratesRoles(p.Rules) || ratesRoles(p.Preferred())
	pl.byMean = byMean(p.Rules) || p.Age == profile.Mean && len(p.LeastSteps()) > 0
	pl.allModes = uint8(1<<len(p.Modes) - 1)
	pl.addSteps()
	return pl
}

// numberColumn returns the column of numbers that is like c, a new one if there is none.
func (pl *plan) numberColumn(c column) int { return addColumn(&pl.numberColumns, c) }

func addColumn(columns *[]column, c column) int {
	for i := range *columns {
		if (*columns)[i].equalsColumn(&c) {
			return i
		}
	}
	*columns = append(*columns, c)
	return len(*columns) - 1
}

func (c *column) equalsColumn(o *column) bool {
	return c.attribute == o.attribute && c.missing == o.missing && c.onlyRole == o.onlyRole &&
		c.isOptional == o.isOptional &&
		c.countsPresence == o.countsPresence &&
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
		pl.pivot = pivot{rule: r, numberColumn: n.scope.column, byRole: n.scope.byRole, partyFold: n.scope.partyFold,
			reachFactor: 1}
		if n.fromMean {
			pl.pivot.reachFactor = 2
		}
		if n.perTeam || n.scope.onlyRole != anyRole || n.scope.byRole != nil ||
			pl.numberColumns[n.scope.column].isOptional {
			pl.pivot.reachFactor = 0
		}
		return
	}
	for _, t := range pl.trades {
		if t.numberColumn >= 0 {
			pl.pivot = pivot{numberColumn: t.numberColumn}
			return
		}
	}
	for _, r := range pl.rules {
		if b, ok := r.condition.(*balance); ok && b.scope.onlyRole == anyRole {
			pl.pivot = pivot{numberColumn: b.scope.column, byRole: b.scope.byRole, partyFold: b.scope.partyFold}
			return
		}
	}
}

// chooseEven takes the first balance rule's numbers, else those of one that is preferred, else the pivot's.
func (pl *plan) chooseEven() {
	pl.evenBy = evenness{pl.pivot.numberColumn, pl.pivot.byRole, pl.pivot.partyFold, profile.FoldMean}
	for _, r := range pl.preferredSet(func(int) bool { return true }).rules {
		if b, ok := r.condition.(*balance); ok && b.scope.onlyRole == anyRole {
			pl.evenBy = evenness{b.scope.column, b.scope.byRole, b.scope.partyFold, b.teamFold}
			return
		}
	}
}

// addCounted makes traits of what a match needs a least number of players with.
func (pl *plan) addCounted() {
	for _, r := range allOf(pl.rules) {
		k, ok := r.condition.(*count)
		if !ok || k.scope.onlyRole != anyRole || r.baseLimits.Min == 0 {
			continue
		}
		least := r.baseLimits.Min
		for _, s := range r.limitSteps {
			if least = min(least, s.Limits.Min); s.Limits.Ended {
				least = 0
			}
		}
		if k.perTeam {
			least *= len(pl.teams)
		}
		pl.countedColumns, pl.traitNeeds = append(pl.countedColumns, k.scope.column), append(pl.traitNeeds, least)
	}
}

// roleNeeds returns by role the least number of players that have it, of all teams.
func (pl *plan) roleNeeds() []int { return pl.traitNeeds[:len(pl.roleNames)] }

// chooseBuckets takes the `same` rules that always divide all players.
func (pl *plan) chooseBuckets() {
	for _, r := range allOf(pl.rules) {
		s, ok := r.condition.(*same)
		if ok && len(r.limitSteps) == 0 && !s.perTeam && s.scope.onlyRole == anyRole &&
			!pl.atomColumns[s.scope.column].isOptional &&
			len(pl.bucketColumns) < maxBucketColumns {
			pl.bucketColumns = append(pl.bucketColumns, s.scope.column)
		}
	}
}

// allOf returns the rules that must all hold at any time: those of an `and` that never ends stand for it.
func allOf(rules []*rule) (all []*rule) {
	for _, r := range rules {
		if a, ok := r.condition.(*and); ok && len(r.limitSteps) == 0 {
			all = append(all, allOf(a.rules)...)
		} else {
			all = append(all, r)
		}
	}
	return all
}

// valueOf returns a player's value of an attribute: its own if it has the declared type, else the profile's default.
func (pl *plan) valueOf(p *match.Player, attribute string) (v match.Value, ok bool) {
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
	spec       *profile.Team
	roleNeeds  []roleNeed
	classIndex int // teams of a class are interchangeable: nothing in the profile tells them apart
}

type roleNeed struct{ roleIndex, minPlayers, maxPlayers int }

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
			pl.mayLeaveRoles = pl.mayLeaveRoles || r.Max > r.Min && (aboutRoles(p.Rules) || aboutRoles(p.Preferred()))
		}
		pl.maxPlayers += t.spec.Max
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
	rules := slices.Concat(pl.profile.Rules, pl.profile.Preferred())
	return !namesTeam(rules, a.Name) && !namesTeam(rules, b.Name)
}

// aboutRoles reports whether a rule looks at players in a role.
func aboutRoles(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		return r.Role != "" || r.Rates() ||
			aboutRoles(r.Rules)
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

func (pl *plan) roleNumber(name string) int { return slices.Index(pl.roleNames, name) }

func (pl *plan) teamNamed(name string) int {
	return slices.IndexFunc(pl.profile.Teams, func(t profile.Team) bool { return t.Name == name })
}

// leastStep is the least size of each team from an age on.
type leastStep struct {
	minAge    time.Duration
	teamSizes []int
	totalSize int
}

func byMean(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		return r.Age == profile.Mean && len(r.Widen) > 0 ||
			byMean(r.Rules)
	})
}

func (pl *plan) addSteps() {
	p := pl.profile
	base := leastStep{minAge: math.MinInt64, teamSizes: make([]int, len(p.Teams))}
	for i := range p.Teams {
		base.teamSizes[i] = p.Teams[i].Min
	}
	pl.leastSteps = []leastStep{base}
	for _, f := range p.LeastSteps() {
		step := leastStep{minAge: f.AfterWait, teamSizes: slices.Clone(pl.leastSteps[len(pl.leastSteps)-1].teamSizes)}
		for i := range p.Teams {
			if n, ok := f.Players[p.Teams[i].Name]; ok {
				step.teamSizes[i] = n
			}
		}
		pl.leastSteps = append(pl.leastSteps, step)
		pl.changeAges = append(pl.changeAges, f.AfterWait)
	}
	for i := range pl.leastSteps {
		for _, n := range pl.leastSteps[i].teamSizes {
			pl.leastSteps[i].totalSize += n
		}
	}
	if p.Autofill > 0 {
		pl.changeAges = append(pl.changeAges, p.Autofill)
	}
	if pl.batchColumn >= 0 {
		pl.changeAges = append(pl.changeAges, p.Batch.For)
	}
	pl.changeAges = appendMoments(pl.changeAges, p.Rules)
	slices.Sort(pl.changeAges)
	pl.changeAges = slices.Compact(pl.changeAges)
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
	i, _ := slices.BinarySearch(pl.changeAges, age+1)
	return i
}
