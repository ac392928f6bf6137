package decide

import "slices"

// search looks for a match around one seed. It is used again for the next seed, so that a search allocates little.
type search struct {
	plan *plan
	seed *candidate

	line      lineup  // the tickets chosen so far, in the order of choice
	seedOnly  lineup  // the seed
	trialLine lineup  // of a change
	finalLine lineup  // the tickets of line in the order of ids, with teams and roles
	choices   choices // what may be chosen
	casting   casting
	filling   filling
	placing   placing
	evening   evening

	emptyPlaces   int  // places of roles that nobody of the line-up fills
	minPlayers    int  // players that a match needs now
	stepsLeft     int  // steps that are left
	ranOutOfSteps bool // steps ran out before everything was tried
	randomLot     lot

	reached *reached // filled for an inquiry; nil for a decision
}

// The steps of a search: placing a ticket or trying an exchange is one.
const (
	baseNodes = 512 // doubled at each widening of the seed
	maxNodes  = 8192
)

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

// refusalBesideSeed returns why c cannot be in a match with the seed, or be the seed while there is none: also because
// of rules on teams that its party breaks by itself, in whichever team it is.
func (s *search) refusalBesideSeed(c *candidate) string {
	l := &s.seedOnly
	because := s.refusalOf(l, c)
	if because != "" || c.playerCount == 1 || s.plan.maySplit {
		return because
	}
	l.pushPick(c)
	l.setTeam(len(l.picks)-1, 0)
	for _, r := range s.plan.rules {
		if r.isFirm && r.verdictFor(l).excess > 0 {
			because = r.id
			break
		}
	}
	l.popPick()
	return because
}

// chooseTickets looks for a match among the choices. It tries the nearest ones first, which is all that most searches need. If
// that finds none, it fills teams in random orders with half of the steps that are left, and with the others it tries
// one set of choices after another.
func (s *search) chooseTickets() bool {
	s.ranOutOfSteps = false
	if !s.rolesReachable() {
		return false
	}
	// The first attempt ends after four steps for each player of a match, and leaves the rest to the other ways.
	budget := 4 * s.plan.maxPlayers
	if s.extendLine(0, s.stepsLeft-budget) {
		return true
	}
	if !s.ranOutOfSteps {
		return false
	}
	if s.tryFills(s.stepsLeft / 2) {
		return true
	}
	s.ranOutOfSteps = false
	s.rolesReachable()
	return s.extendLine(0, 0)
}

// extendLine adds choices from the i-th on until the match holds, taking each back after which it does not. As long as a
// role is empty it adds only players who fill one, because they are few: whether there are enough shows soon. It ends
// when only stop steps are left.
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
		// take has counted the empty places of the line-up with c.
		s.emptyPlaces = empty
	}
	return empty == 0 && s.completeMatch()
}

// extendFurther extends a line-up that has just taken choice i: with the first of all choices once the last role is filled.
func (s *search) extendFurther(i, empty, stop int) bool {
	switch {
	case empty > 0 && s.emptyPlaces == empty:
		return false
	case empty > 0 && s.emptyPlaces == 0:
		return s.extendLine(0, stop)
	}
	return s.extendLine(i+1, stop)
}

// needsRoleOf reports whether a player of c would take a role that a match needs.
func (pl *plan) needsRoleOf(c *candidate) bool {
	for role, need := range pl.roleNeeds() {
		if need > 0 && c.traitCounts[role] > 0 {
			return true
		}
	}
	return false
}

// hasEnoughLeft reports whether the choices from i on may have enough players.
func (s *search) hasEnoughLeft(i int) bool {
	players, more := s.choices.playersFrom(i)
	return more || s.line.playerCount+players >= s.minPlayers
}

func (s *search) takeCandidate(c *candidate) bool {
	if s.refusalOf(&s.line, c) != "" {
		return false
	}
	s.line.pushPick(c)
	if s.rolesReachable() {
		return true
	}
	s.line.popPick()
	return false
}

// The reasons of refusal that are no rule's id.
const (
	becauseSize        = "size"
	becausePlayer      = "player"
	becauseMode        = "mode"
	becauseRoles       = "roles"
	becauseCombination = "combination"
)

// refusalOf returns why c cannot be in a match with the line-up, as far as it shows without teams; "" if it can.
func (s *search) refusalOf(l *lineup, c *candidate) string {
	if l.playerCount+c.playerCount > s.plan.maxPlayers {
		return becauseSize
	}
	for _, r := range s.plan.rules {
		if !r.mayAdmit(l, c) {
			return r.id
		}
	}
	switch {
	case s.plan.allModes != 0 && l.commonModes()&c.allowedModes == 0:
		return becauseMode
	case l.hasPlayerOf(c):
		return becausePlayer
	case !s.canPack(l, c):
		return becauseSize
	}
	return ""
}

// commonModes returns the modes that all picks allow.
func (l *lineup) commonModes() uint8 {
	modes := ^uint8(0)
	for _, c := range l.picks {
		modes &= c.allowedModes
	}
	return modes
}

// hasPlayerOf reports whether a player has a ticket in the line-up already.
func (l *lineup) hasPlayerOf(c *candidate) bool {
	for _, pick := range l.picks {
		if pick.subBits&c.subBits == 0 {
			continue
		}
		for i := range c.ticket.Players {
			for j := range pick.ticket.Players {
				if pick.ticket.Players[j].Sub == c.ticket.Players[i].Sub {
					return true
				}
			}
		}
	}
	return false
}

// rolesReachable reports whether the places that are left are enough for the roles that nobody of the line-up fills.
func (s *search) rolesReachable() bool {
	s.emptyPlaces = 0
	if len(s.plan.roleNames) == 0 {
		return true
	}
	s.casting.resetRoles(&s.line)
	for role, least := range s.plan.roleNeeds() {
		s.emptyPlaces += s.casting.castRoles(anyTeam, []roleNeed{{roleIndex: role, minPlayers: least}})
	}
	return s.emptyPlaces <= s.plan.maxPlayers-s.line.playerCount
}

// completeMatch reports whether the line-up is a match as it is, and leaves the match in s.finalLine.
func (s *search) completeMatch() bool {
	least := s.plan.leastAt(s.line.decidingAge(s.plan.profile.Age))
	return s.line.playerCount >= least.totalSize && s.placeTeams(least)
}
