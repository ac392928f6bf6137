package decide

import "slices"

// describeProposal describes the match in s.finalLine.
func (s *search) describeProposal(regions *regionSet) Proposal {
	p := Proposal{
		Anchor:  s.seed.ticket.ID,
		Teams:   s.seatedTeams(),
		Modes:   s.plan.modeNames(s.finalLine.commonModes()),
		Regions: regions.rankRegions(s.holdingRegions(), &s.finalLine, s.plan),
		Chosen:  s.chosenValues(),
		Rules:   s.ruleValues(),
		Traded:  s.tradedValues(regions),

		PassedOver: s.passedOver(),
	}
	p.Preferences = s.preferenceValues(p.Regions, regions)
	for _, c := range s.newcomerTickets() {
		p.Tickets = append(p.Tickets, c.ticket.ID)
	}
	return p
}

// newcomerTickets returns the tickets that wait, oldest first.
func (s *search) newcomerTickets() []*candidate {
	all := slices.DeleteFunc(slices.Clone(s.finalLine.picks), func(c *candidate) bool { return c.isSeated })
	slices.SortFunc(all, byAge)
	return all
}

// seatedTeams returns the teams with the newcomers; the players of an open match have their seats already.
func (s *search) seatedTeams() []Team {
	teams := make([]Team, len(s.plan.teams))
	for i := range teams {
		teams[i].Name = s.plan.teams[i].spec.Name
	}
	for _, c := range s.newcomerTickets() {
		from, _ := s.finalLine.playersOf(slices.Index(s.finalLine.picks, c))
		for i := range c.ticket.Players {
			seat := Seat{Ticket: c.ticket.ID, Sub: c.ticket.Players[i].Sub}
			if role := s.finalLine.roleByPlayer[from+i]; role >= 0 {
				seat.Role = s.plan.roleNames[role]
			}
			team := &teams[s.finalLine.teamByPlayer[from+i]]
			team.Seats = append(team.Seats, seat)
		}
	}
	return teams
}

// chosenValues returns the values that common rules chose, by attribute; nil: none chose any.
func (s *search) chosenValues() map[string]string {
	var chosen map[string]string
	for _, r := range s.plan.rules {
		// A common rule within or, and, not chooses nothing.
		k, ok := r.condition.(*common)
		if !ok {
			continue
		}
		if value, ok := k.chosenValue(&s.finalLine); ok {
			if chosen == nil {
				chosen = map[string]string{}
			}
			chosen[k.attribute] = value
		}
	}
	return chosen
}

// ruleValues returns what each rule measured in the match, in the order of the profile.
func (s *search) ruleValues() []RuleValue {
	values := make([]RuleValue, len(s.plan.rules))
	for i, r := range s.plan.rules {
		v := s.placement.verdicts[i]
		values[i] = RuleValue{ID: r.id, Value: v.value, Limit: v.limit, Text: s.ruleText(r)}
		// A rule that has ended has measured nothing: neither value nor limit.
		if v.hasEnded {
			values[i] = RuleValue{ID: r.id, Text: "ended"}
		}
	}
	return values
}

// ruleText returns the text that the players share by a rule; "": the rule measures a number, or they share none.
func (s *search) ruleText(r *rule) string {
	switch k := r.condition.(type) {
	case *common:
		chosen, _ := k.chosenValue(&s.finalLine)
		return chosen
	case *same:
		// What all players share; per team, each team may have another.
		if atoms := s.finalLine.atomsIn(k.scope); !k.perTeam && len(atoms) > 0 {
			return atoms[0].Value().text
		}
	}
	return ""
}

// passedOver returns the choices that the seed preferred to the last one that it has, and why it does not have them.
func (s *search) passedOver() []PassedOver {
	passed, choices := slices.Clone(s.choices.passedOver), s.choices.preferredList()
	last := len(choices) - 1
	for last >= 0 && !slices.Contains(s.finalLine.picks, choices[last]) {
		last--
	}
	// Choices behind the last one that the seed has were not passed over: the match was full before them.
	for i := 0; i < last && len(passed) < maxPassedOver; i++ {
		if c := choices[i]; !slices.Contains(s.finalLine.picks, c) {
			passed = append(passed, PassedOver{c.ticket.ID, s.exclusionOf(c)})
		}
	}
	return passed
}

// exclusionOf returns what excludes c from the match: a rule that it breaks with the others, or that the match was
// full.
func (s *search) exclusionOf(c *candidate) string {
	for _, r := range s.plan.rules {
		if !r.mayAdmit(&s.finalLine, c) {
			return r.id
		}
	}
	// With roles, a place that is free may still be one that the candidate does not take.
	if len(s.plan.roleNames) > 0 {
		return becauseRoles
	}
	return becauseCombination
}
