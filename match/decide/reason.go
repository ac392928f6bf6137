package decide

import "slices"

// maxPassedOver is how many candidates a proposal names that were nearer than one it has.
const maxPassedOver = 8

// proposal describes the match in s.final.
func (s *search) proposal(regions *regionSet) Proposal {
	p := Proposal{
		Anchor:  s.seed.ticket.ID,
		Teams:   s.teams(),
		Modes:   s.plan.modeNames(s.final.modes()),
		Regions: regions.choose(s.regions(), &s.final, s.plan),
		Chosen:  s.chosen(),
		Rules:   s.values(),
		Traded:  s.tradedValues(regions),

		PassedOver: s.passedOver(),
	}
	p.Preferences = s.preferenceValues(p.Regions, regions)
	for _, c := range s.newcomers() {
		p.Tickets = append(p.Tickets, c.ticket.ID)
	}
	return p
}

// newcomers returns the tickets that wait, oldest first.
func (s *search) newcomers() []*candidate {
	all := slices.DeleteFunc(slices.Clone(s.final.picks), func(c *candidate) bool { return c.seated })
	slices.SortFunc(all, byAge)
	return all
}

func (s *search) teams() []Team {
	teams := make([]Team, len(s.plan.teams))
	for i := range teams {
		teams[i].Name = s.plan.teams[i].spec.Name
	}
	for _, c := range s.newcomers() {
		from, _ := s.final.playersOf(slices.Index(s.final.picks, c))
		for i := range c.ticket.Players {
			seat := Seat{Ticket: c.ticket.ID, Sub: c.ticket.Players[i].Sub}
			if role := s.final.role[from+i]; role >= 0 {
				seat.Role = s.plan.roles[role]
			}
			team := &teams[s.final.team[from+i]]
			team.Seats = append(team.Seats, seat)
		}
	}
	return teams
}

// modeNames returns the profile's modes of a set.
func (pl *plan) modeNames(allowed uint8) []string {
	var modes []string
	for i, mode := range pl.profile.Modes {
		if allowed&(1<<i) != 0 {
			modes = append(modes, mode)
		}
	}
	return modes
}

// regions returns where every rule holds.
func (s *search) regions() uint64 {
	set := s.final.allowed
	for i := range s.placing.verdicts {
		set &= s.placing.verdicts[i].regions
	}
	return set
}

func (s *search) chosen() map[string]string {
	var chosen map[string]string
	for _, r := range s.plan.rules {
		k, ok := r.condition.(*common)
		if !ok {
			continue
		}
		if value, ok := k.chosen(&s.final); ok {
			if chosen == nil {
				chosen = map[string]string{}
			}
			chosen[k.attribute] = value
		}
	}
	return chosen
}

func (s *search) values() []RuleValue {
	values := make([]RuleValue, len(s.plan.rules))
	for i, r := range s.plan.rules {
		v := s.placing.verdicts[i]
		values[i] = RuleValue{ID: r.id, Value: v.value, Limit: v.limit, Text: s.text(r)}
		if v.ended {
			values[i] = RuleValue{ID: r.id, Text: "ended"}
		}
	}
	return values
}

func (s *search) text(r *rule) string {
	switch k := r.condition.(type) {
	case *common:
		chosen, _ := k.chosen(&s.final)
		return chosen
	case *same:
		if atoms := s.final.atoms(k.scope); !k.perTeam && len(atoms) > 0 {
			return atoms[0].Value().text
		}
	}
	return ""
}

// passedOver returns the choices that the seed preferred to the last one that it has, and why it does not have them.
func (s *search) passedOver() []PassedOver {
	passed, choices := slices.Clone(s.choices.refused), s.choices.preferred()
	last := len(choices) - 1
	for last >= 0 && !slices.Contains(s.final.picks, choices[last]) {
		last--
	}
	for i := 0; i < last && len(passed) < maxPassedOver; i++ {
		if c := choices[i]; !slices.Contains(s.final.picks, c) {
			passed = append(passed, PassedOver{c.ticket.ID, s.because(c)})
		}
	}
	return passed
}

// because returns what excludes c from the match: a rule that it breaks with the others, or that the match was full.
func (s *search) because(c *candidate) string {
	for _, r := range s.plan.rules {
		if !r.mayAdmit(&s.final, c) {
			return r.id
		}
	}
	if len(s.plan.roles) > 0 {
		return becauseRoles
	}
	return becauseCombination
}
