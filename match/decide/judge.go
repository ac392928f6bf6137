package decide

// judgeRules judges the rules that look at teams or roles, or the others, and returns how far they are from holding,
// and where all of them hold.
func (s *search) judgeRules(byTeam bool) (over float64, regions uint64) {
	p := &s.placing
	if len(p.verdicts) != len(s.plan.rules) {
		p.verdicts = make([]verdict, len(s.plan.rules))
	}
	regions = s.finalLine.allowedRegions
	for i, r := range s.plan.rules {
		if r.byTeam == byTeam {
			p.verdicts[i] = r.verdictFor(&s.finalLine)
			s.reached.noteVerdict(i, p.verdicts[i])
			over += p.verdicts[i].excess
			regions &= p.verdicts[i].holdingRegions
		}
	}
	return over, regions
}

// holdsWithoutTeams judges the rules that need no teams; the others are judged when there are some.
func (s *search) holdsWithoutTeams() bool {
	over, regions := s.judgeRules(false)
	s.placing.holdingRegions = regions
	// While no region is known, no rule holds in one. A match whose rules hold otherwise is made all the same, and
	// waits for a host; a rule on latencies does not hold then.
	return over == 0 && (regions != 0 || s.finalLine.allowedRegions == 0)
}

// teamsMayHold reports whether the teams, which need not be full, break no rule for good.
func (s *search) teamsMayHold() bool {
	for _, r := range s.plan.rules {
		if r.isFirm && r.verdictFor(&s.finalLine).excess > 0 {
			return false
		}
	}
	return true
}

// castAndJudge casts the roles and judges the rules that look at teams or roles: 0 if all hold, else how far they are
// from it.
func (s *search) castAndJudge() float64 {
	v := s.violationWith(true)
	if v == 0 || !s.plan.mayLeaveRoles {
		return v
	}
	if less := s.violationWith(false); less < v {
		return less
	}
	return s.violationWith(true) // once more, for the roles that it leaves in the line-up
}

// violationWith casts the least number of every role's places, or more of them.
func (s *search) violationWith(more bool) float64 {
	empty := s.castAll(more)
	v := s.violationOf(empty)
	if v > 0 && empty == 0 && s.plan.ratesRoles {
		return s.exchangeRoles(v)
	}
	return v
}

// violationOf judges the rules that look at teams or roles, of which so many places are empty.
func (s *search) violationOf(empty int) float64 {
	over, regions := s.judgeRules(true)
	total := float64(empty) + over
	// Each rule holds somewhere, but no region is common to all of them.
	if regions&s.placing.holdingRegions == 0 && s.finalLine.allowedRegions != 0 && total == 0 {
		return 1
	}
	return total
}

// castAll gives roles in every team and returns how many places stay empty.
func (s *search) castAll(more bool) int {
	if len(s.plan.roleNames) == 0 {
		return 0
	}
	s.casting.resetRoles(&s.finalLine)
	empty := 0
	for team := range s.plan.teams {
		needs := s.plan.teams[team].roleNeeds
		empty += s.casting.castRoles(team, needs)
		if more {
			s.casting.castMore(team, needs)
		}
	}
	return empty
}

// maxRoleExchanges bounds how often the rules are judged for other roles in the same teams.
const maxRoleExchanges = 64

// exchangeRoles lets two players of a team exchange their roles as long as that brings the line-up nearer to holding,
// and returns how far it is then from that. What it finds depends on the line-up alone, so that a match that holds once
// holds whenever it is judged.
func (s *search) exchangeRoles(v float64) float64 {
	l, tried := &s.finalLine, 0
	for improved := true; improved; {
		improved = false
		for p := range l.roleByPlayer {
			for q := p + 1; q < l.playerCount; q++ {
				if !s.casting.mayExchange(p, q) {
					continue
				}
				tried++
				if tried > maxRoleExchanges {
					return v
				}
				s.stepsLeft--
				l.roleByPlayer[p], l.roleByPlayer[q] = l.roleByPlayer[q], l.roleByPlayer[p]
				next := s.violationOf(0)
				if next == 0 {
					return 0
				}
				if next < v {
					v, improved = next, true
				} else {
					l.roleByPlayer[p], l.roleByPlayer[q] = l.roleByPlayer[q], l.roleByPlayer[p]
				}
			}
		}
	}
	return v
}

// holdingRegions returns where every rule holds.
func (s *search) holdingRegions() uint64 {
	set := s.finalLine.allowedRegions
	for i := range s.placing.verdicts {
		set &= s.placing.verdicts[i].holdingRegions
	}
	return set
}
