package decide

import "slices"

// mend looks for a match near the line-up in s.final, which has teams but may be none: it makes random changes to its tickets and teams,
// and keeps those after which it is no farther from holding. It tries so many changes.
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
	if regions == 0 && s.final.allowed != 0 && over == 0 {
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

// replace gives the places of a ticket to an outsider: of one with as many players each, else in the team that all are in, and of further
// tickets there if it is larger.
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
