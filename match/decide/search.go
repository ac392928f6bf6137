package decide

import "slices"

// search looks for a match around one seed. It is used again for the next seed, so that a search allocates little.
type search struct {
	plan *plan
	seed *candidate

	line     lineup  // the tickets chosen so far, in the order of choice
	seedOnly lineup  // the seed
	trial    lineup  // of a change
	final    lineup  // the tickets of line in the order of ids, with teams and roles
	choices  choices // what may be chosen
	casting  casting
	filling  filling
	placing  placing
	evening  evening

	empty         int  // places of roles that nobody of the line-up fills
	minPlayers    int  // players that a match needs now
	nodes         int  // steps that are left
	ranOutOfSteps bool // steps ran out before everything was tried
	random        lot

	reached *reached // filled for an inquiry; nil for a decision
}

// The steps of a search: placing a ticket or trying an exchange is one.
const (
	baseNodes = 512 // doubled at each widening of the seed
	maxNodes  = 8192
)

// find looks for a match of the seed in the allowed regions. When it returns true, the match is in s.final.
func (s *search) find(pl *plan, seed *candidate, now int64, allowed uint64, nodes int, random lot) bool {
	s.random = random
	if !s.start(pl, seed, now, allowed, nodes) {
		return false
	}
	age := s.line.ageOf(seed)
	s.minPlayers = pl.leastAt(age).sum
	low, high := window(seed, pl.pivot.reach(pl.pivot.step(age)))
	s.choices.begin(pl, seed, low, high)
	s.choices.walk.regions = pl.reachable(seed, &s.seedOnly)
	return s.choose()
}

// start makes a line-up of the seed. It returns false if the seed's own party breaks a rule.
func (s *search) start(pl *plan, seed *candidate, now int64, allowed uint64, nodes int) bool {
	s.plan, s.seed, s.nodes, s.ranOutOfSteps = pl, seed, nodes, false
	s.line.reset(now, allowed, len(pl.teams))
	s.seedOnly.reset(now, allowed, len(pl.teams))
	if s.refusalBesideSeed(seed) != "" {
		return false
	}
	s.line.push(seed)
	s.seedOnly.push(seed)
	return true
}

// refusalBesideSeed returns why c cannot be in a match with the seed, or be the seed while there is none: also because
// of rules on teams that its party breaks by itself, in whichever team it is.
func (s *search) refusalBesideSeed(c *candidate) string {
	l := &s.seedOnly
	because := s.refusal(l, c)
	if because != "" || c.size == 1 || s.plan.split {
		return because
	}
	l.push(c)
	l.setTeam(len(l.picks)-1, 0)
	for _, r := range s.plan.rules {
		if r.firm && r.verdict(l).excess > 0 {
			because = r.id
			break
		}
	}
	l.pop()
	return because
}

// choose looks for a match among the choices. It tries the nearest ones first, which is all that most searches need. If
// that finds none, it fills teams in random orders with half of the steps that are left, and with the others it tries
// one set of choices after another.
func (s *search) choose() bool {
	s.ranOutOfSteps = false
	if !s.rolesReachable() {
		return false
	}
	// The first attempt ends after four steps for each player of a match, and leaves the rest to the other ways.
	budget := 4 * s.plan.maxPlayers
	if s.extend(0, s.nodes-budget) {
		return true
	}
	if !s.ranOutOfSteps {
		return false
	}
	if s.tryFills(s.nodes / 2) {
		return true
	}
	s.ranOutOfSteps = false
	s.rolesReachable()
	return s.extend(0, 0)
}

// extend adds choices from the i-th on until the match holds, taking each back after which it does not. As long as a
// role is empty it adds only players who fill one, because they are few: whether there are enough shows soon. It ends
// when only stop steps are left.
func (s *search) extend(i, stop int) bool {
	empty := s.empty
	for ; s.line.players < s.plan.maxPlayers; i++ {
		c := s.choiceAt(i)
		if c == nil || empty == 0 && !s.reachable(i) {
			break
		}
		if empty > 0 && !s.plan.needs(c) || slices.Contains(s.line.picks, c) {
			continue
		}
		if s.nodes <= stop {
			s.ranOutOfSteps = true
			break
		}
		s.nodes--
		if s.take(c) {
			if s.descend(i, empty, stop) {
				return true
			}
			s.line.pop()
		}
		// take has counted the empty places of the line-up with c.
		s.empty = empty
	}
	return empty == 0 && s.complete()
}

// descend extends a line-up that has just taken choice i: with the first of all choices once the last role is filled.
func (s *search) descend(i, empty, stop int) bool {
	switch {
	case empty > 0 && s.empty == empty:
		return false
	case empty > 0 && s.empty == 0:
		return s.extend(0, stop)
	}
	return s.extend(i+1, stop)
}

// needs reports whether a player of c would take a role that a match needs.
func (pl *plan) needs(c *candidate) bool {
	for role, need := range pl.roleNeeds() {
		if need > 0 && c.traits[role] > 0 {
			return true
		}
	}
	return false
}

// reachable reports whether the choices from i on may have enough players.
func (s *search) reachable(i int) bool {
	players, more := s.choices.playersFrom(i)
	return more || s.line.players+players >= s.minPlayers
}

func (s *search) take(c *candidate) bool {
	if s.refusal(&s.line, c) != "" {
		return false
	}
	s.line.push(c)
	if s.rolesReachable() {
		return true
	}
	s.line.pop()
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

// refusal returns why c cannot be in a match with the line-up, as far as it shows without teams; "" if it can.
func (s *search) refusal(l *lineup, c *candidate) string {
	if l.players+c.size > s.plan.maxPlayers {
		return becauseSize
	}
	for _, r := range s.plan.rules {
		if !r.mayAdmit(l, c) {
			return r.id
		}
	}
	switch {
	case s.plan.modes != 0 && l.modes()&c.modes == 0:
		return becauseMode
	case l.hasPlayerOf(c):
		return becausePlayer
	case !s.packs(l, c):
		return becauseSize
	}
	return ""
}

// modes returns the modes that all picks allow.
func (l *lineup) modes() uint8 {
	modes := ^uint8(0)
	for _, c := range l.picks {
		modes &= c.modes
	}
	return modes
}

// hasPlayerOf reports whether a player has a ticket in the line-up already.
func (l *lineup) hasPlayerOf(c *candidate) bool {
	for _, pick := range l.picks {
		if pick.subs&c.subs == 0 {
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
	s.empty = 0
	if len(s.plan.roles) == 0 {
		return true
	}
	s.casting.begin(&s.line)
	for role, least := range s.plan.roleNeeds() {
		s.empty += s.casting.cast(anyTeam, []roleNeed{{role: role, min: least}})
	}
	return s.empty <= s.plan.maxPlayers-s.line.players
}

// complete reports whether the line-up is a match as it is, and leaves the match in s.final.
func (s *search) complete() bool {
	least := s.plan.leastAt(s.line.age(s.plan.profile.Age))
	return s.line.players >= least.sum && s.place(least)
}
