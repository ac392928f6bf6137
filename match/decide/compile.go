package decide

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// newPlan prepares a profile for the search.
func newPlan(p *profile.Profile) *plan {
	pl := &plan{profile: p, batchColumn: noColumn, priorityColumn: noColumn, pivot: pivot{numberColumn: noColumn}}
	// The order matters: addTeams numbers the roles that rules name; the pivot is chosen among compiled rules and
	// trades, and evenBy may be the pivot's; addSteps looks at batchColumn.
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
		// Optional, like the columns of the batch and the priority: a number that only orders excludes no ticket.
		pl.orderCriteria = append(pl.orderCriteria,
			criterion{pl.numberColumn(column{attribute: attribute, onlyRole: anyRole, isOptional: true}),
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

// choosePivot takes the number of the first `near` rule that must always hold. The rule's limit gives seeds a window
// unless it compares only some of the players. Without such a rule, numbers that are traded or balanced make near
// candidates the better ones, without a window.
func (pl *plan) choosePivot() {
	for _, r := range allOf(pl.rules) {
		n, ok := r.condition.(*near)
		if !ok {
			continue
		}
		pl.pivot = pivot{rule: r, numberColumn: n.scope.column, byRole: n.scope.byRole, partyFold: n.scope.partyFold,
			reachFactor: 1}
		// Two players may be a limit away from the mean, on different sides.
		if n.fromMean {
			pl.pivot.reachFactor = 2
		}
		// A rule that does not compare all players with each other excludes nobody from a seed's match by the number
		// alone. The order along the number still puts better candidates first.
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

// chooseEven makes teams even by the first balance rule's numbers, else by those of a preference, else by the pivot's.
func (pl *plan) chooseEven() {
	pl.evenBy = evenness{pl.pivot.numberColumn, pl.pivot.byRole, pl.pivot.partyFold, profile.FoldMean}
	for _, r := range pl.preferredSet(func(int) bool { return true }).rules {
		if b, ok := r.condition.(*balance); ok && b.scope.onlyRole == anyRole {
			pl.evenBy = evenness{b.scope.column, b.scope.byRole, b.scope.partyFold, b.teamFold}
			return
		}
	}
}

// addCounted makes a trait of each count, with the least number of players that a match needs, or 0: a search then also
// sees those of whom a match may have any number beside those of whom it may have few.
func (pl *plan) addCounted() {
	for _, r := range allOf(pl.rules) {
		k, ok := r.condition.(*count)
		if !ok || k.scope.onlyRole != anyRole {
			continue
		}
		least := r.baseLimits.Min
		for _, s := range r.limitSteps {
			// The least of all steps: a trait must not exclude a match that a later step allows.
			least = min(least, s.Limits.Min)
			if s.Limits.Ended {
				least = 0
			}
		}
		if k.perTeam {
			least *= len(pl.teams)
		}
		pl.countedColumns, pl.traitNeeds = append(pl.countedColumns, k.scope.column), append(pl.traitNeeds, least)
	}
}

// chooseBuckets takes the `same` rules that always divide all players.
func (pl *plan) chooseBuckets() {
	for _, r := range allOf(pl.rules) {
		// Players whom a rule leaves out may meet everybody, so such a rule does not divide them.
		s, ok := r.condition.(*same)
		if ok && len(r.limitSteps) == 0 && !s.perTeam && s.scope.onlyRole == anyRole &&
			!pl.atomColumns[s.scope.column].isOptional && len(pl.bucketColumns) < maxBucketColumns {
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

// addTrades compiles what the profile trades for waiting.
func (pl *plan) addTrades() {
	for _, t := range pl.profile.Trade {
		added := trade{terms: t, numberColumn: noColumn}
		// A trade of latency has no attribute.
		if t.Attribute != "" {
			numbers := column{attribute: t.Attribute, onlyRole: anyRole, isOptional: true}
			added.numberColumn, added.byRole = pl.numberColumn(numbers), pl.columnsByRole(t.ByRole, numbers)
		}
		pl.trades = append(pl.trades, added)
	}
}

// addPreferred compiles the preferences. Their columns exclude no ticket, and they do not say by which latency regions
// are compared.
func (pl *plan) addPreferred() {
	latency := pl.limitsLatency
	for i := range pl.profile.Prefer {
		p := &pl.profile.Prefer[i]
		pl.preferred = append(pl.preferred, preference{pl.compileRule(&p.Rule), p.Weight})
	}
	pl.limitsLatency = latency
	// Every set of up to five preferences (profile.maxPrefer): 31 at most.
	for set := 1; set < 1<<len(pl.preferred); set++ {
		pl.preferredSets = append(pl.preferredSets, pl.preferredSet(func(i int) bool { return set&(1<<i) != 0 }))
	}
	slices.SortStableFunc(pl.preferredSets, func(a, b preferredSet) int { return cmp.Compare(b.weight, a.weight) })
}

// byMean reports whether a rule, or one within it, widens by the mean age of a match.
func byMean(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		return r.Age == profile.Mean && len(r.Widen) > 0 || byMean(r.Rules)
	})
}

// addSteps collects the least sizes of teams by age, and all ages at which a search may find what it did not find
// before.
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

// appendMoments appends the ages at which rules widen, also those within others.
func appendMoments(to []time.Duration, rules []profile.Rule) []time.Duration {
	for i := range rules {
		for _, s := range rules[i].Widen {
			to = append(to, s.AfterWait)
		}
		to = appendMoments(to, rules[i].Rules)
	}
	return to
}
