package decide

import "slices"

// tryFills fills teams with the choices in random orders, and mends line-ups that are no match, until one is or no more
// than stop steps are left.
func (s *search) tryFills(stop int) bool {
	for near := false; s.stepsLeft > stop; near = !near {
		if near {
			s.shuffleNear()
		} else {
			s.shuffleChoices()
		}
		s.stepsLeft -= 1 + len(s.choices.list)/scannedPerStep
		if s.fillLineup() && s.mendLineup(mendsPerFill*s.plan.maxPlayers) {
			return true
		}
	}
	return false
}

// mendsPerFill is how many changes of a filled match are tried, for each of its players.
const mendsPerFill = 8

// fillLineup puts the seed and choices, in their order, into teams: those who fill an empty role, then others. The
// line-up is in s.finalLine, whether it is a match or not. It returns false if there is no place for the seed.
func (s *search) fillLineup() bool {
	s.finalLine.resetTo(s.line.nowNanos, s.line.allowedRegions, len(s.plan.teams))
	s.drawRoom()
	if !s.fillPlace(s.seed, false) {
		return false
	}
	// Players who fill a role come first: they are few, and anybody could take their places.
	for _, forRoles := range []bool{true, false} {
		for _, c := range s.choices.list {
			if s.isFilled(forRoles) {
				break
			}
			if (!forRoles || s.plan.needsRoleOf(c)) && !slices.Contains(s.finalLine.picks, c) &&
				s.refusalOf(&s.finalLine, c) == "" {
				s.fillPlace(c, forRoles)
			}
		}
	}
	return true
}

// isFilled reports whether no role is empty or, without forRoles, no place is free.
func (s *search) isFilled(forRoles bool) bool {
	left := s.fill.freePlaces
	if forRoles {
		left = s.fill.emptyRolePlaces
	}
	return !slices.ContainsFunc(left, func(n int) bool { return n > 0 })
}

// drawRoom draws the sizes of the teams: often the greatest, since more players wait less then, or the least.
func (s *search) drawRoom() {
	f := &s.fill
	f.freePlaces, f.emptyRolePlaces = f.freePlaces[:0], f.emptyRolePlaces[:0]
	least := s.plan.leastAt(s.line.ageOf(s.seed)).teamSizes
	sizeChoice := s.randomLot.drawBelow(4)
	for i := range s.plan.teams {
		t := &s.plan.teams[i]
		step := max(1, t.spec.Step)
		steps := (t.spec.Max - least[i]) / step
		switch sizeChoice { // 2 and 3: the greatest size
		case 0: // the least size: those who fit may be too few for more
			steps = 0
		case 1: // any size, drawn for each team: rules may ask for teams of different sizes
			steps = s.randomLot.drawBelow(steps + 1)
		}
		f.freePlaces = append(f.freePlaces, least[i]+step*steps)
		empty := 0
		for _, need := range t.roleNeeds {
			empty += need.minPlayers
		}
		f.emptyRolePlaces = append(f.emptyRolePlaces, empty)
	}
}

// fillPlace puts a ticket into a team with room, and reports whether it could. With forRole, the ticket must fill an
// empty role there.
func (s *search) fillPlace(c *candidate, forRole bool) bool {
	f := &s.fill
	// A random team is tried first: if it were always the same, the others would get what it refuses.
	first := s.randomLot.drawBelow(len(f.freePlaces))
	for i := range f.freePlaces {
		team := (first + i) % len(f.freePlaces)
		if f.freePlaces[team] >= c.playerCount && s.fillTeam(c, team, forRole) {
			return true
		}
	}
	return s.plan.maySplit && !forRole && s.fillTeams(c)
}

// fillTeam puts a ticket into a team with room and reports whether it stays there: not if roles of the team would have
// no place left, if it fills no empty role although it must (forRole), or if a rule cannot hold any more.
func (s *search) fillTeam(c *candidate, team int, forRole bool) bool {
	f, t := &s.fill, &s.plan.teams[team]
	s.finalLine.pushPick(c)
	s.finalLine.setTeam(len(s.finalLine.picks)-1, team)
	emptyRolePlaces := 0
	if len(t.roleNeeds) > 0 {
		s.roleCaster.resetRoles(&s.finalLine)
		emptyRolePlaces = s.roleCaster.recastTeam(team, t.roleNeeds)
	}
	freePlaces := f.freePlaces[team] - c.playerCount
	fillsNoRole := emptyRolePlaces == f.emptyRolePlaces[team]
	// The rules are judged last: they cost the most.
	if emptyRolePlaces > freePlaces || forRole && fillsNoRole || !s.teamsMayHold() {
		s.finalLine.popPick()
		return false
	}
	f.freePlaces[team], f.emptyRolePlaces[team] = freePlaces, emptyRolePlaces
	return true
}

// fillTeams puts the players of a party into any teams with room, each into the one with the most. It reports whether
// all have a place; otherwise nothing has changed.
func (s *search) fillTeams(c *candidate) bool {
	f := &s.fill
	s.finalLine.pushPick(c)
	from, to := s.finalLine.playersOf(len(s.finalLine.picks) - 1)
	for p := from; p < to; p++ {
		team := slices.Index(f.freePlaces, slices.Max(f.freePlaces))
		if f.freePlaces[team] == 0 {
			for q := from; q < p; q++ {
				f.freePlaces[s.finalLine.teamByPlayer[q]]++
			}
			s.finalLine.popPick()
			return false
		}
		s.finalLine.teamByPlayer[p] = team
		f.freePlaces[team]--
	}
	return true
}

// mendLineup looks for a match near the line-up in s.finalLine, whose players have teams: it makes random changes to its
// tickets and teams, and keeps those after which it is no farther from a match. changes bounds how many it tries.
func (s *search) mendLineup(changes int) bool {
	distance := s.judgeDistance()
	for ; changes > 0 && distance > 0; changes-- {
		s.stepsLeft--
		s.trialLine.copyFrom(&s.finalLine)
		if s.alterLineup() {
			// An equal distance is kept as well, so that the search can leave a line-up that no single change brings nearer.
			if d := s.judgeDistance(); d <= distance {
				distance = d
				continue
			}
		}
		// The change is taken back: trialLine is the line-up before it.
		s.finalLine, s.trialLine = s.trialLine, s.finalLine
	}
	return distance == 0 && s.confirmMatch()
}

// judgeDistance gives roles in the line-up with its teams, judges it, and returns how far it is from a match; 0: it is
// one.
func (s *search) judgeDistance() float64 {
	least := s.plan.leastAt(s.finalLine.decidingAge(s.plan.profile.Age))
	total := 0.0
	for team := range s.plan.teams {
		size := s.finalLine.teamSize(team)
		total += float64(max(0, least.teamSizes[team]-size))
		if size > least.teamSizes[team] && !s.plan.teams[team].allowsSize(size, least.teamSizes[team]) {
			total++
		}
	}
	over, regions := s.judgeTicketRules()
	s.placement.holdingRegions = regions
	// Each rule holds somewhere, but no region is common to all of them.
	if regions == 0 && s.finalLine.allowedRegions != 0 && over == 0 {
		over = 1
	}
	return total + over + s.castAndJudge()
}

// confirmMatch puts the tickets of a match into the order of their ids, in which sums are taken, and judges it again.
func (s *search) confirmMatch() bool {
	s.finalLine.sortByID(&s.trialLine)
	return s.holdsWithoutTeams() && s.castAndJudge() == 0
}

// alterLineup makes a random change of the line-up, and reports whether it could.
func (s *search) alterLineup() bool {
	// Half of the changes bring in somebody new, which is what most line-ups lack; sizes change rarely, since the drawn
	// ones are often right.
	pick, team := s.randomLot.drawBelow(len(s.finalLine.picks)), s.randomLot.drawBelow(len(s.plan.teams))
	switch s.randomLot.drawBelow(8) {
	case 0, 1, 2, 3:
		return s.replacePick(pick, s.drawOutsider())
	case 4, 5:
		return s.swapPicks(pick, s.randomLot.drawBelow(len(s.finalLine.picks)))
	case 6:
		return s.movePick(pick, team)
	}
	if s.randomLot.drawBelow(2) == 0 {
		return s.addPick(s.drawOutsider(), team)
	}
	return s.removePick(pick)
}

// drawOutsider draws one of the choices that are not in the line-up; nil: none was drawn.
func (s *search) drawOutsider() *candidate {
	list := s.choices.list
	if len(list) == 0 {
		return nil
	}
	c := list[s.randomLot.drawBelow(len(list))]
	if slices.Contains(s.finalLine.picks, c) {
		return nil
	}
	return c
}

// removePick takes out a ticket, but never the seed: another seed finds the matches without this one.
func (s *search) removePick(pick int) bool {
	if s.finalLine.picks[pick] == s.seed {
		return false
	}
	s.finalLine.removePick(pick)
	return true
}

// addPick puts a candidate into a team; nil: there is none.
func (s *search) addPick(c *candidate, team int) bool {
	if c == nil || !s.hasPlace(team, c.playerCount) || s.refusalOf(&s.finalLine, c) != "" {
		return false
	}
	s.finalLine.pushPick(c)
	s.finalLine.setTeam(len(s.finalLine.picks)-1, team)
	return true
}

// replacePick gives the places of a ticket to an outsider. With as many players it takes exactly these; otherwise the
// ticket's players must be in one team, where a larger outsider also takes places of further tickets.
func (s *search) replacePick(pick int, c *candidate) bool {
	if c == nil {
		return false
	}
	from, to := s.finalLine.playersOf(pick)
	team := s.finalLine.teamByPlayer[from]
	seats := slices.Clone(s.finalLine.teamByPlayer[from:to])
	if !s.removePick(pick) {
		return false
	}
	if c.playerCount != len(seats) {
		areInOneTeam := !slices.ContainsFunc(seats, func(t int) bool { return t != team })
		return areInOneTeam && s.makeRoom(team, c.playerCount) && s.addPick(c, team)
	}
	if s.refusalOf(&s.finalLine, c) != "" {
		return false
	}
	s.finalLine.pushPick(c)
	copy(s.finalLine.teamByPlayer[s.finalLine.playerCount-c.playerCount:], seats)
	return true
}

// makeRoom takes tickets out of a team until so many players have a place, and reports whether they have.
func (s *search) makeRoom(team, players int) bool {
	for pick := len(s.finalLine.picks) - 1; pick >= 0 && !s.hasPlace(team, players); pick-- {
		if s.finalLine.teamByPlayer[s.finalLine.firstPlayer[pick]] == team {
			s.removePick(pick)
		}
	}
	return s.hasPlace(team, players)
}

// swapPicks exchanges the teams of two tickets, or of one player of each where parties may be split.
func (s *search) swapPicks(a, b int) bool {
	l := &s.finalLine
	fromA, toA := l.playersOf(a)
	fromB, toB := l.playersOf(b)
	if s.plan.maySplit {
		p, q := fromA+s.randomLot.drawBelow(toA-fromA), fromB+s.randomLot.drawBelow(toB-fromB)
		l.teamByPlayer[p], l.teamByPlayer[q] = l.teamByPlayer[q], l.teamByPlayer[p]
		return l.teamByPlayer[p] != l.teamByPlayer[q]
	}
	x, y := l.teamByPlayer[fromA], l.teamByPlayer[fromB]
	// Nothing would change.
	if x == y {
		return false
	}
	l.setTeam(a, y)
	l.setTeam(b, x)
	return s.hasPlace(x, 0) && s.hasPlace(y, 0)
}

// movePick puts a ticket into another team with room.
func (s *search) movePick(pick, team int) bool {
	from, to := s.finalLine.playersOf(pick)
	if s.finalLine.teamByPlayer[from] == team || !s.hasPlace(team, to-from) {
		return false
	}
	s.finalLine.setTeam(pick, team)
	return true
}

// hasPlace reports whether a team has room for so many more players.
func (s *search) hasPlace(team, players int) bool {
	return s.finalLine.teamSize(team)+players <= s.plan.teams[team].spec.Max
}
