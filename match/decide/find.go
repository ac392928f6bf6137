package decide

import "slices"

// findMatch looks for a match of the seed in the allowed regions. When it returns true, the match is in s.finalLine.
func (s *search) findMatch(pl *plan, seed *candidate, now int64, allowed uint64, nodes int, random lot) bool {
	s.randomLot = random
	if !s.startLine(pl, seed, now, allowed, nodes) {
		return false
	}
	age := s.line.ageOf(seed)
	s.minPlayers = pl.leastAt(age).totalSize
	low, high := keyWindow(seed, pl.pivot.reachAt(pl.pivot.stepAt(age)))
	s.choices.startAround(pl, seed, low, high)
	s.choices.walk.wantedRegions = pl.reachableRegions(seed, &s.seedOnly)
	return s.chooseTickets()
}

// chooseTickets looks for a match among the choices. It tries the nearest ones first, which is all that most searches
// need. If that finds none, it fills teams in random orders with half of the steps that are left, and with the others
// it tries one set of choices after another.
func (s *search) chooseTickets() bool {
	s.ranOutOfSteps = false
	if !s.countEmptyPlaces() {
		return false
	}
	// The first attempt ends after four steps for each player of a match, and leaves the rest to the other ways.
	budget := 4 * s.plan.maxPlayers
	if s.extendLine(0, s.stepsLeft-budget) {
		return true
	}
	// The first attempt tried every set of choices, as in a short queue: other orders would find nothing either.
	if !s.ranOutOfSteps {
		return false
	}
	if s.tryFills(s.stepsLeft / 2) {
		return true
	}
	s.ranOutOfSteps = false
	s.countEmptyPlaces() // extendLine begins with those of the seed alone
	return s.extendLine(0, 0)
}

// extendLine adds choices from the i-th on until the line-up is a match, and takes each back with which it becomes none.
// As long as a role is empty it adds only players who fill one: they are few, and whether there are enough shows soon.
// It ends when only stop steps are left.
func (s *search) extendLine(i, stop int) bool {
	empty := s.emptyPlaces
	for ; s.line.playerCount < s.plan.maxPlayers; i++ {
		c := s.choiceAt(i)
		if c == nil || empty == 0 && !s.hasEnoughLeft(i) {
			break
		}
		if empty > 0 && !s.plan.needsRoleOf(c) || slices.Contains(s.line.picks, c) {
			continue
		}
		if s.stepsLeft <= stop {
			s.ranOutOfSteps = true
			break
		}
		s.stepsLeft--
		if s.takeCandidate(c) {
			if s.extendFurther(i, empty, stop) {
				return true
			}
			s.line.popPick()
		}
		// takeCandidate has counted the empty places of the line-up with c.
		s.emptyPlaces = empty
	}
	return empty == 0 && s.completeMatch()
}

// extendFurther extends a line-up that has just taken choice i, before which empty places of roles were empty. Once the
// last role is filled, it begins with the first choice again.
func (s *search) extendFurther(i, empty, stop int) bool {
	// The choice fills none of the roles for which it was taken.
	if empty > 0 && s.emptyPlaces == empty {
		return false
	}
	if empty > 0 && s.emptyPlaces == 0 {
		return s.extendLine(0, stop)
	}
	return s.extendLine(i+1, stop)
}

// hasEnoughLeft reports whether the choices from i on may have enough players.
func (s *search) hasEnoughLeft(i int) bool {
	players, more := s.choices.playersFrom(i)
	return more || s.line.playerCount+players >= s.minPlayers
}

// takeCandidate adds a candidate to the line-up, unless a rule refuses it or the roles cannot be filled any more.
func (s *search) takeCandidate(c *candidate) bool {
	if s.refusalOf(&s.line, c) != "" {
		return false
	}
	s.line.pushPick(c)
	if s.countEmptyPlaces() {
		return true
	}
	s.line.popPick()
	return false
}

// countEmptyPlaces sets emptyPlaces to the places of roles that nobody of the line-up fills, and reports whether the
// places that are left in the match are enough for them.
func (s *search) countEmptyPlaces() (areEnoughLeft bool) {
	s.emptyPlaces = 0
	if len(s.plan.roleNames) == 0 {
		return true
	}
	s.roleCaster.resetRoles(&s.line)
	for role, least := range s.plan.roleNeeds() {
		s.emptyPlaces += s.roleCaster.castRoles(anyTeam, []roleNeed{{roleIndex: role, minPlayers: least}})
	}
	return s.emptyPlaces <= s.plan.maxPlayers-s.line.playerCount
}

// completeMatch reports whether the line-up is a match as it is, and leaves the match in s.finalLine.
func (s *search) completeMatch() bool {
	least := s.plan.leastAt(s.line.decidingAge(s.plan.profile.Age))
	return s.line.playerCount >= least.totalSize && s.placeTeams(least)
}

// startLine makes a line-up of the seed. It returns false if the seed's own party breaks a rule.
func (s *search) startLine(pl *plan, seed *candidate, now int64, allowed uint64, nodes int) bool {
	s.plan, s.seed, s.stepsLeft, s.ranOutOfSteps = pl, seed, nodes, false
	s.line.resetTo(now, allowed, len(pl.teams))
	s.seedOnly.resetTo(now, allowed, len(pl.teams))
	if s.refusalBesideSeed(seed) != "" {
		return false
	}
	s.line.pushPick(seed)
	s.seedOnly.pushPick(seed)
	return true
}
