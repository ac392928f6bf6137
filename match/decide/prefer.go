package decide

import (
	"cmp"
	"slices"
)

// A preference is a rule that a match should satisfy, but need not. When a seed has a match, it is searched for again
// with preferences among the rules: with the sets of them that weigh most first, until one gives a match or those that
// are left weigh no more than what the match satisfies anyway. So no match is missed for a preference, and the search
// leaves out what a preference excludes as it does for a rule.

// preferred is a preference that can be judged.
type preferred struct {
	rule   *rule
	weight float64
}

// preferredSet is some preferences with the rules.
type preferredSet struct {
	weight float64 // of its preferences
	rules  []*rule // all rules of the profile, and the preferences
}

// preferNodes are the steps of a search with preferences among the rules.
const preferNodes = baseNodes / 2

// addPreferred compiles the preferences. Their columns exclude no ticket, and they do not say by which latency regions
// are compared.
func (pl *plan) addPreferred() {
	latency := pl.limitsLatency
	for i := range pl.profile.Prefer {
		p := &pl.profile.Prefer[i]
		pl.preferred = append(pl.preferred, preferred{pl.compileRule(&p.Rule), p.Weight})
	}
	pl.limitsLatency = latency
	for set := 1; set < 1<<len(pl.preferred); set++ {
		pl.preferredSets = append(pl.preferredSets, pl.preferredSet(func(i int) bool { return set&(1<<i) != 0 }))
	}
	slices.SortStableFunc(pl.preferredSets, func(a, b preferredSet) int { return cmp.Compare(b.weight, a.weight) })
}

// preferredSet returns the set of the preferences that are in it.
func (pl *plan) preferredSet(has func(i int) bool) (set preferredSet) {
	set.rules = slices.Clone(pl.rules)
	for i, p := range pl.preferred {
		if has(i) {
			set.weight += p.weight
			set.rules = append(set.rules, p.rule)
		}
	}
	return set
}

// preferHeavier replaces the match of a seed that the search has found by one whose preferences weigh more, if it finds one
// that is due. It returns the steps that it took.
func (e *Engine) preferHeavier(c *candidate, allowed uint64, nodes int) (spent int) {
	if len(e.plan.preferred) == 0 {
		return 0
	}
	satisfied, searched := e.search.preferredWeight(), false
	for i := range e.plan.preferredSets {
		set := &e.plan.preferredSets[i]
		if set.weight <= satisfied {
			break
		}
		searched = true
		ok, steps := e.findDue(set.rules, c, allowed, preferNodes)
		if spent += steps; ok {
			return spent
		}
	}
	if searched { // the first match, once more
		_, steps := e.findDue(e.plan.rules, c, allowed, nodes)
		spent += steps
	}
	return spent
}

// findDue searches with other rules for a match that is due.
func (e *Engine) findDue(rules []*rule, c *candidate, allowed uint64, nodes int) (ok bool, spent int) {
	own := e.plan.rules
	e.plan.rules = rules
	ok, spent = e.runSearch(c, allowed, nodes)
	e.plan.rules = own
	if !ok {
		return false, spent
	}
	e.search.evenPreferred()
	return e.dueAt().IsZero(), spent
}

// evenPreferred makes the teams even. Preferences that hold before hold afterwards.
func (s *search) evenPreferred() {
	if len(s.plan.preferred) == 0 {
		s.evenTeams()
		return
	}
	verdicts := s.plan.judgePreferences(&s.finalLine)
	own := s.plan.rules
	s.plan.rules = s.plan.preferredSet(func(i int) bool { return verdicts[i].excess == 0 }).rules
	s.judgeAgain()
	s.evenTeams()
	s.plan.rules = own
	s.judgeAgain()
}

// judgeAgain judges all rules of the match in s.finalLine, with the teams and roles that it has.
func (s *search) judgeAgain() {
	_, s.placing.holdingRegions = s.judgeRules(false)
	s.judgeRules(true)
}

// judgePreferences judges the preferences for a line-up.
func (pl *plan) judgePreferences(l *lineup) []verdict {
	verdicts := make([]verdict, len(pl.preferred))
	for i := range pl.preferred {
		verdicts[i] = pl.preferred[i].rule.verdictFor(l)
	}
	return verdicts
}

// holdsIn reports whether a rule holds in one of some regions.
func (v *verdict) holdsIn(regions uint64) bool { return v.excess == 0 && v.holdingRegions&regions != 0 }

// weightIn returns what the preferences that hold in one of some regions weigh.
func (pl *plan) weightIn(regions uint64, verdicts []verdict) (weight float64) {
	for i := range verdicts {
		if verdicts[i].holdsIn(regions) {
			weight += pl.preferred[i].weight
		}
	}
	return weight
}

// preferredWeight returns what the preferences that the match in s.finalLine satisfies weigh, in the region where that is
// most.
func (s *search) preferredWeight() (most float64) {
	verdicts := s.plan.judgePreferences(&s.finalLine)
	if s.finalLine.allowedRegions == 0 { // no region is known
		return s.plan.weightIn(everywhere, verdicts)
	}
	eachRegion(s.holdingRegions(), func(region int) { most = max(most, s.plan.weightIn(1<<region, verdicts)) })
	return most
}

// preferenceValues says which preferences hold in the best region of the match in s.finalLine.
func (s *search) preferenceValues(regions []RegionChoice, set *regionSet) (values []PreferenceValue) {
	at := everywhere
	if len(regions) > 0 {
		at = 1 << set.number(regions[0].Name)
	}
	for i, v := range s.plan.judgePreferences(&s.finalLine) {
		values = append(values, PreferenceValue{s.plan.preferred[i].rule.id, s.plan.preferred[i].weight, v.holdsIn(at)})
	}
	return values
}
