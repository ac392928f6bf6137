package decide

import "slices"

// filling is a match that is filled team by team.
type filling struct {
	room  []int // by team: places that are free
	empty []int // by team: places of roles that nobody of it fills
}

// tryFills fills teams with the choices in random orders, and mends what is no match, until no more than stop steps are left.
func (s *search) tryFills(stop int) bool {
	for s.nodes > stop {
		s.shuffle()
		s.nodes -= 1 + len(s.choices.list)/scannedPerStep
		if s.fill() && s.mend(mendsPerFill*s.plan.most) {
			return true
		}
	}
	return false
}

// mendsPerFill is how many changes of a filled match are tried, for each of its players.
const mendsPerFill = 8

// fill puts the seed and choices, in their order, into teams: those who fill an empty role, then others. The line-up is in s.final,
// whether it is a match or not. It returns false if there is no place for the seed.
func (s *search) fill() bool {
	s.final.reset(s.line.now, s.line.allowed, len(s.plan.teams))
	s.drawRoom()
	if !s.fillPlace(s.seed, false) {
		return false
	}
	for _, roles := range []bool{true, false} {
		for _, c := range s.choices.list {
			if s.isFilled(roles) {
				break
			}
			if (!roles || s.plan.needs(c)) && !slices.Contains(s.final.picks, c) && s.refusal(&s.final, c) == "" {
				s.fillPlace(c, roles)
			}
		}
	}
	return true
}

// isFilled reports whether no role is empty, or no place is free.
func (s *search) isFilled(roles bool) bool {
	left := s.filling.room
	if roles {
		left = s.filling.empty
	}
	return !slices.ContainsFunc(left, func(n int) bool { return n > 0 })
}

// drawRoom draws the sizes of the teams: often the greatest, since more players wait less then, or the least.
func (s *search) drawRoom() {
	f := &s.filling
	f.room, f.empty = f.room[:0], f.empty[:0]
	least := s.plan.leastAt(s.line.ageOf(s.seed)).teams
	drawn := s.random.below(4)
	for i := range s.plan.teams {
		t := &s.plan.teams[i]
		step := max(1, t.spec.Step)
		steps := (t.spec.Max - least[i]) / step
		switch drawn {
		case 0:
			steps = 0
		case 1:
			steps = s.random.below(steps + 1)
		}
		f.room = append(f.room, least[i]+step*steps)
		empty := 0
		for _, need := range t.roles {
			empty += need.min
		}
		f.empty = append(f.empty, empty)
	}
}

// fillPlace puts a ticket into a team with room. With role it must fill an empty one there.
func (s *search) fillPlace(c *candidate, role bool) bool {
	f := &s.filling
	first := s.random.below(len(f.room))
	for i := range f.room {
		team := (first + i) % len(f.room)
		if f.room[team] >= c.size && s.fillTeam(c, team, role) {
			return true
		}
	}
	return s.plan.split && !role && s.fillTeams(c)
}

// fillTeam puts a ticket into a team if the roles that stay empty have a place there, and its rules may hold.
func (s *search) fillTeam(c *candidate, team int, role bool) bool {
	f, t := &s.filling, &s.plan.teams[team]
	s.final.push(c)
	s.final.setTeam(len(s.final.picks)-1, team)
	empty := 0
	if len(t.roles) > 0 {
		s.casting.begin(&s.final)
		empty = s.casting.recast(team, t.roles)
	}
	if empty > f.room[team]-c.size || role && empty == f.empty[team] || !s.teamsMayHold() {
		s.final.pop()
		return false
	}
	f.room[team] -= c.size
	f.empty[team] = empty
	return true
}

// fillTeams puts the players of a party into any teams with room.
func (s *search) fillTeams(c *candidate) bool {
	f := &s.filling
	s.final.push(c)
	from, to := s.final.playersOf(len(s.final.picks) - 1)
	for p := from; p < to; p++ {
		team := slices.Index(f.room, slices.Max(f.room))
		if f.room[team] == 0 {
			for q := from; q < p; q++ {
				f.room[s.final.team[q]]++
			}
			s.final.pop()
			return false
		}
		s.final.team[p] = team
		f.room[team]--
	}
	return true
}
