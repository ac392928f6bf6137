package decide

// judgeTeamRules judges the rules that look at teams or roles, sets their verdicts, and returns how far they are from
// holding, and where all of them hold.
func (s *search) judgeTeamRules() (over float64, regions uint64) { return s.judgeRules(true) }

// judgeTicketRules is judgeTeamRules for the other rules.
func (s *search) judgeTicketRules() (over float64, regions uint64) { return s.judgeRules(false) }

func (s *search) judgeRules(looksAtTeams bool) (over float64, regions uint64) {
	p := &s.placement
	if len(p.verdicts) != len(s.plan.rules) {
		p.verdicts = make([]verdict, len(s.plan.rules))
	}
	regions = s.finalLine.allowedRegions
	for i, r := range s.plan.rules {
		if r.looksAtTeams == looksAtTeams {
			p.verdicts[i] = r.verdictFor(&s.finalLine)
			s.bestSoFar.noteVerdict(i, p.verdicts[i])
			over += p.verdicts[i].excess
			regions &= p.verdicts[i].holdingRegions
		}
	}
	return over, regions
}

// holdsWithoutTeams judges the rules that need no teams, sets holdingRegions, and reports whether these rules hold.
func (s *search) holdsWithoutTeams() bool {
	over, regions := s.judgeTicketRules()
	s.placement.holdingRegions = regions
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
	v := s.castAllAndJudge(mostHolders)
	if v == 0 || !s.plan.mayLeaveRoles {
		return v
	}
	if less := s.castAllAndJudge(leastHolders); less < v {
		return less
	}
	return s.castAllAndJudge(mostHolders) // once more, for the roles that it leaves in the line-up
}

// roleHolders says how many players get a role: as few as each team needs, or as many as it has places for.
type roleHolders int

const (
	leastHolders roleHolders = iota
	mostHolders
)

// castAllAndJudge casts the roles of all teams, and judges the rules that look at teams or roles.
func (s *search) castAllAndJudge(holders roleHolders) float64 {
	empty := s.castAll(holders)
	v := s.violationOf(empty)
	if v > 0 && empty == 0 && s.plan.ratesRoles {
		return s.exchangeRoles(v)
	}
	return v
}

// violationOf judges the rules that look at teams or roles, and returns how far they are from holding, with so many
// places of roles empty.
func (s *search) violationOf(empty int) float64 {
	over, regions := s.judgeTeamRules()
	total := float64(empty) + over
	// Each rule holds somewhere, but no region is common to all of them.
	if regions&s.placement.holdingRegions == 0 && s.finalLine.allowedRegions != 0 && total == 0 {
		return 1
	}
	return total
}

// castAll gives roles in every team and returns how many places that need a player stay empty.
func (s *search) castAll(holders roleHolders) int {
	if len(s.plan.roleNames) == 0 {
		return 0
	}
	s.roleCaster.resetRoles(&s.finalLine)
	empty := 0
	for team := range s.plan.teams {
		needs := s.plan.teams[team].roleNeeds
		empty += s.roleCaster.castRoles(team, needs)
		if holders == mostHolders {
			s.roleCaster.castMore(team, needs)
		}
	}
	return empty
}

// maxRoleExchanges bounds how often the rules are judged for other roles in the same teams.
const maxRoleExchanges = 64

// exchangeRoles lets two players of a team exchange their roles as long as that brings the rules nearer to holding, and
// returns how far they are from it then. The roles that it finds depend on the line-up alone, so that the rules hold for
// a match whenever it is judged if they did once.
func (s *search) exchangeRoles(v float64) float64 {
	l, tried := &s.finalLine, 0
	for improved := true; improved; {
		improved = false
		for p := range l.roleByPlayer {
			for q := p + 1; q < l.playerCount; q++ {
				if !s.roleCaster.mayExchange(p, q) {
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

// holdingRegions returns where every rule holds by its latest verdict.
func (s *search) holdingRegions() uint64 {
	set := s.finalLine.allowedRegions
	for i := range s.placement.verdicts {
		set &= s.placement.verdicts[i].holdingRegions
	}
	return set
}
