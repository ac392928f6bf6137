package decide

import (
	"slices"
)

// filling is a match that is filled team by team.
type filling struct {
	room  []int // by team: places that are free
	empty []int // by team: places of roles that nobody of it fills
}

// tryFills fills teams with the choices in random orders, and mends what is no match, until no more than stop steps are
// left.
func (s *search) tryFills(stop int) bool {
	for near := false; s.nodes > stop; near = !near {
		if near {
			s.shuffleNear()
		} else {
			s.shuffle()
		}
		s.nodes -= 1 + len(s.choices.list)/scannedPerStep
		if s.fill() && s.mend(mendsPerFill*s.plan.maxPlayers) {
			return true
		}
	}
	return false
}

// mendsPerFill is how many changes of a filled match are tried, for each of its players.
const mendsPerFill = 8

// fill puts the seed and choices, in their order, into teams: those who fill an empty role, then others. The line-up is
// in s.final, whether it is a match or not. It returns false if there is no place for the seed.
func (s *search) fill() bool {
	s.final.reset(s.line.now, s.line.allowedRegions, len(s.plan.teams))
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

// mend looks for a match near the line-up in s.final, which has teams but may be none: it makes random changes to its
// tickets and teams, and keeps those after which it is no farther from holding. It tries so many changes.
func (s *search) mend(times int) bool {
	distance := s.distance()
	for ; times > 0 && distance > 0; times-- {
		s.nodes--
		s.trial.copy(&s.final)
		if s.alter() {
			if d := s.distance(); d <= distance {
				distance = d
				continue
			}
		}
		// Takes the change back: the copy of before is the line-up again.
		s.final, s.trial = s.trial, s.final
	}
	return distance == 0 && s.confirm()
}

// distance is how far the line-up with its teams is from a match; 0: it is one.
func (s *search) distance() float64 {
	least := s.plan.leastAt(s.final.age(s.plan.profile.Age))
	total := 0.0
	for team := range s.plan.teams {
		size := s.final.size(team)
		total += float64(max(0, least.teams[team]-size))
		if size > least.teams[team] && !s.plan.teams[team].allows(size, least.teams[team]) {
			total++
		}
	}
	over, regions := s.judge(false)
	s.placing.regions = regions
	if regions == 0 && s.final.allowedRegions != 0 && over == 0 {
		over = 1
	}
	return total + over + s.violation()
}

// confirm puts the tickets of a match into the order of their ids, in which sums are taken, and judges it once more.
func (s *search) confirm() bool {
	s.final.sortByID(&s.trial)
	return s.holdsWithoutTeams() && s.violation() == 0
}

// alter makes a random change of the line-up, and reports whether it could.
func (s *search) alter() bool {
	pick, team := s.random.below(len(s.final.picks)), s.random.below(len(s.plan.teams))
	switch s.random.below(8) {
	case 0, 1, 2, 3:
		return s.replace(pick, s.outsider())
	case 4, 5:
		return s.swapPicks(pick, s.random.below(len(s.final.picks)))
	case 6:
		return s.movePick(pick, team)
	}
	if s.random.below(2) == 0 {
		return s.addPick(s.outsider(), team)
	}
	return s.removePick(pick)
}

// outsider draws one of the choices that are not in the line-up; nil: none was drawn.
func (s *search) outsider() *candidate {
	list := s.choices.list
	if len(list) == 0 {
		return nil
	}
	c := list[s.random.below(len(list))]
	if slices.Contains(s.final.picks, c) {
		return nil
	}
	return c
}

func (s *search) removePick(pick int) bool {
	if s.final.picks[pick] == s.seed {
		return false
	}
	s.final.remove(pick)
	return true
}

func (s *search) addPick(c *candidate, team int) bool {
	if c == nil || !s.hasPlace(team, c.size) || s.refusal(&s.final, c) != "" {
		return false
	}
	s.final.push(c)
	s.final.setTeam(len(s.final.picks)-1, team)
	return true
}

// replace gives the places of a ticket to an outsider: of one with as many players each, else in the team that all are
// in, and of further tickets there if it is larger.
func (s *search) replace(pick int, c *candidate) bool {
	if c == nil {
		return false
	}
	from, to := s.final.playersOf(pick)
	team := s.final.team[from]
	seats := slices.Clone(s.final.team[from:to])
	if !s.removePick(pick) {
		return false
	}
	if c.size != len(seats) {
		inOneTeam := !slices.ContainsFunc(seats, func(t int) bool { return t != team })
		return inOneTeam && s.makeRoom(team, c.size) && s.addPick(c, team)
	}
	if s.refusal(&s.final, c) != "" {
		return false
	}
	s.final.push(c)
	copy(s.final.team[s.final.players-c.size:], seats)
	return true
}

// makeRoom takes tickets out of a team until so many players have a place, and reports whether they have.
func (s *search) makeRoom(team, players int) bool {
	for pick := len(s.final.picks) - 1; pick >= 0 && !s.hasPlace(team, players); pick-- {
		if s.final.team[s.final.first[pick]] == team {
			s.removePick(pick)
		}
	}
	return s.hasPlace(team, players)
}

// swapPicks exchanges the teams of two tickets, or of one player of each where parties may be split.
func (s *search) swapPicks(a, b int) bool {
	l := &s.final
	fromA, toA := l.playersOf(a)
	fromB, toB := l.playersOf(b)
	if s.plan.split {
		p, q := fromA+s.random.below(toA-fromA), fromB+s.random.below(toB-fromB)
		l.team[p], l.team[q] = l.team[q], l.team[p]
		return l.team[p] != l.team[q]
	}
	x, y := l.team[fromA], l.team[fromB]
	if x == y {
		return false
	}
	l.setTeam(a, y)
	l.setTeam(b, x)
	return s.hasPlace(x, 0) && s.hasPlace(y, 0)
}

func (s *search) movePick(pick, team int) bool {
	from, to := s.final.playersOf(pick)
	if s.final.team[from] == team || !s.hasPlace(team, to-from) {
		return false
	}
	s.final.setTeam(pick, team)
	return true
}

// hasPlace reports whether a team has room for so many more players.
func (s *search) hasPlace(team, players int) bool {
	return s.final.size(team)+players <= s.plan.teams[team].spec.Max
}
