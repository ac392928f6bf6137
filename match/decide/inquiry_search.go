package decide

import "slices"

// searchAmong searches for a match of the ticket with some candidates, and notes if it ran out of steps. It first
// searches with the ticket as the oldest. With older tickets the rules may have widened further, so it also tries each
// of these as the oldest: candidates that are chosen before the oldest would be judged by too narrow limits.
func (q *Inquiry) searchAmong(list []*candidate, nodes int) bool {
	s := &q.engine.search
	ranOut := false
	if q.startSearch(nodes / 2) {
		s.choices.setList(list, func(c *candidate) bool { return s.refusalBesideSeed(c) == "" })
		if q.searchChoices(q.seed, nodes/2) {
			return true
		}
		ranOut = s.ranOutOfSteps
	}
	left := nodes / 2
	for _, oldest := range q.widerCandidates(list) {
		q.startAnyhow(left)
		if left <= 0 {
			ranOut = true
			break
		}
		if !s.takeCandidate(oldest) {
			continue
		}
		s.choices.setList(list, oldest.isOlder)
		if q.searchChoices(oldest, left) {
			return true
		}
		ranOut, left = ranOut || s.ranOutOfSteps, s.stepsLeft
	}
	q.findings.Complete = q.findings.Complete && !ranOut
	return false
}

// widerCandidates returns the candidates whose age widens a rule further than the age of the ticket does, oldest first.
func (q *Inquiry) widerCandidates(list []*candidate) []*candidate {
	e := q.engine
	own := e.plan.momentAfter(e.ageOf(q.seed))
	return slices.DeleteFunc(byAgeOf(list), func(c *candidate) bool { return e.plan.momentAfter(e.ageOf(c)) <= own })
}

func admitsAnybody(*candidate) bool { return true }

// searchChoices looks for a match among the choices, none of which is older than the oldest, and counts its steps.
func (q *Inquiry) searchChoices(oldest *candidate, nodes int) bool {
	s := &q.engine.search
	s.minPlayers = s.plan.leastAt(q.engine.ageOf(oldest)).totalSize
	defer func() { q.stepsSpent += nodes - s.stepsLeft }()
	return s.chooseTickets()
}

// startSearch makes a line-up of the ticket. It returns false if the ticket's own party breaks a rule.
func (q *Inquiry) startSearch(nodes int) bool {
	e := q.engine
	return e.search.startLine(e.plan, q.seed, e.nowNanos, e.hostRegions.knownRegions, nodes)
}

// startAnyhow makes a line-up of the ticket even if its own party breaks a rule now: with older tickets the rule may be
// wider.
func (q *Inquiry) startAnyhow(nodes int) {
	if s := &q.engine.search; !q.startSearch(nodes) {
		s.line.pushPick(q.seed)
		s.seedOnly.pushPick(q.seed)
	}
}
