package decide

// A preference is a rule that a match should satisfy, but need not. When a seed has a match, the seed is searched again
// with a set of preferences among the rules: with the heaviest sets first, until one gives a match or the other sets
// weigh no more than the preferences that the match satisfies anyway. So no match is missed for a preference, and the
// search leaves out what a preference excludes as it does for a rule.

// preferNodes are the steps of a search with preferences among the rules.
const preferNodes = baseNodes / 2

// preferHeavier replaces the match of a seed that the search has found by one whose preferences weigh more, if it finds
// one that is due. It returns the steps that it took.
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
		spent += steps
		if ok {
			return spent
		}
	}
	// The searches in between have overwritten the first match. The same search finds it again: its lot depends on the
	// seed and the time alone.
	if searched {
		_, steps := e.findDue(e.plan.rules, c, allowed, nodes)
		spent += steps
	}
	return spent
}

// findDue searches with other rules for a match, makes its teams even, and reports whether it found one that is due.
func (e *Engine) findDue(rules []*rule, c *candidate, allowed uint64, nodes int) (ok bool, spent int) {
	// The search reads its rules from the plan, for which a set of preferences is rules like the others.
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

// evenPreferred makes the teams even. Preferences that hold before still hold afterwards.
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
	_, s.placement.holdingRegions = s.judgeTicketRules()
	s.judgeTeamRules()
}

// preferredWeight returns the weight of the preferences that the match in s.finalLine satisfies, in the region where it
// is greatest.
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
