package decide

// Findings searches for at most effort steps, and returns the result. Call it once, after all others are compared.
func (q *Inquiry) Findings(effort int) Findings {
	f, s := &q.findings, &q.engine.search
	e := q.engine
	s.bestSoFar = newBestVerdicts(len(e.plan.rules))
	f.Nearest = q.nearest.describeNearest(e.plan)
	if !q.startSearch(0) {
		f.Refused = s.refusalBesideSeed(q.seed)
	}
	fit := q.fittingList.keptCandidates()
	f.Complete = !q.fittingList.isPartial
	f.Best.Needed = e.plan.leastAt(e.ageOf(q.seed)).totalSize
	// Of the effort, a quarter is for a match, an eighth for the largest set, and half for relaxations, since these
	// search once for each rule and limit that they try.
	if q.searchAmong(fit, effort/4) {
		f.Match, f.Complete, f.MatchDueAt = ticketIDs(s.newcomerTickets()), true, e.dueAt()
	}
	q.takeReached(s.bestSoFar)
	s.bestSoFar = nil
	q.findBest(fit, effort/8)
	if f.Match == nil {
		q.relaxRules(fit, effort/2)
	}
	// findJoin is the last: it takes the ticket out of the candidates.
	q.findJoin()
	return *f
}

// takeReached copies the best values of rules over sets into the findings.
func (q *Inquiry) takeReached(r *bestVerdicts) {
	for i := range q.findings.Rules {
		if to := &q.findings.Rules[i]; !to.OfPairs && r.isJudged[i] && !r.byRule[i].hasEnded {
			to.Judged, to.Value, to.Limit = true, r.byRule[i].value, r.byRule[i].limit
		}
	}
}

func ticketIDs(all []*candidate) []string {
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = c.ticket.ID
	}
	return ids
}

// findJoin looks for an open match that the ticket can join.
func (q *Inquiry) findJoin() {
	var found []Proposal
	spent := 0
	if q.engine.tryJoin(q.seed, &found, &spent) {
		q.findings.Joins = found[0].Session
	}
}
