package decide

import (
	"cmp"
	"slices"
)

// placing distributes the tickets of a line-up over the teams.
type placing struct {
	units       []unit
	sizes       []int     // by team: players
	strength    []float64 // by team
	order       []int     // scratch: of teams, for each unit
	leastSizes  *leastStep
	nodes       int  // steps that are left
	exchanged   bool // exchanges were tried
	regions     uint64
	verdicts    []verdict // by rule
	teamsBefore []int     // scratch: the teams before exchanges
	parties     []int     // scratch: sizes
}

// unit is what stays in one team: a party, or a player where parties may be split.
type unit struct {
	pick     int
	player   int // -1: the whole party
	size     int
	strength float64
}

// maxPlacing bounds the steps of one distribution.
const maxPlacing = 256

// place looks for teams and roles with which every rule holds, the largest parties first.
func (s *search) place(least *leastStep) bool {
	s.final.copyByID(&s.line)
	if !s.holdsWithoutTeams() {
		return false
	}
	if s.distribute(least, false) {
		return true
	}
	return s.plan.split && s.distribute(least, true)
}

func (s *search) distribute(least *leastStep, split bool) bool {
	p := &s.placing
	s.beginPlacing(least, split)
	// Enough to seat each unit once even if the search has hardly a step left: a line-up that is complete is judged.
	p.nodes = len(p.units) + min(maxPlacing, max(s.nodes, 32))
	spent := p.nodes
	found := s.placeUnit(0)
	s.nodes -= spent - p.nodes
	return found
}

// beginPlacing cuts the line-up into units that are in no team.
func (s *search) beginPlacing(least *leastStep, split bool) {
	p := &s.placing
	p.leastSizes, p.exchanged = least, false
	s.cutUnits(split)
	p.sizes = append(p.sizes[:0], make([]int, len(s.plan.teams))...)
	p.strength = append(p.strength[:0], make([]float64, len(s.plan.teams))...)
	p.order = append(p.order[:0], make([]int, len(p.units)*len(s.plan.teams))...)
	s.casting.begin(&s.final)
}

// holdsWithoutTeams judges the rules that need no teams; the others are judged when there are some.
func (s *search) holdsWithoutTeams() bool {
	over, regions := s.judge(false)
	s.placing.regions = regions
	return over == 0 && (regions != 0 || s.final.allowedRegions == 0)
}

// judge judges the rules that look at teams or roles, or the others, and returns how far they are from holding, and
// where all of them hold.
func (s *search) judge(byTeam bool) (over float64, regions uint64) {
	p := &s.placing
	if len(p.verdicts) != len(s.plan.rules) {
		p.verdicts = make([]verdict, len(s.plan.rules))
	}
	regions = s.final.allowedRegions
	for i, r := range s.plan.rules {
		if r.byTeam == byTeam {
			p.verdicts[i] = r.verdict(&s.final)
			s.reached.judged(i, p.verdicts[i])
			over += p.verdicts[i].excess
			regions &= p.verdicts[i].regions
		}
	}
	return over, regions
}

// cutUnits makes the units: the largest first, then the strongest.
func (s *search) cutUnits(split bool) {
	p := &s.placing
	p.units = p.units[:0]
	for pick, c := range s.final.picks {
		if !split {
			p.units = append(p.units, unit{pick, -1, c.size, s.plan.strength(c, -1)})
			continue
		}
		for player := range c.size {
			p.units = append(p.units, unit{pick, player, 1, s.plan.strength(c, player)})
		}
	}
	slices.SortStableFunc(p.units, func(a, b unit) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(b.strength, a.strength))
	})
}

// put moves a unit into a team, or out of all with noTeam.
func (s *search) put(u *unit, team int) {
	if u.player < 0 {
		s.final.setTeam(u.pick, team)
		return
	}
	s.final.team[s.final.first[u.pick]+u.player] = team
}

func (s *search) teamOf(u *unit) int { return s.final.team[s.final.first[u.pick]+max(u.player, 0)] }

// placeUnit puts unit i and all after it into teams.
func (s *search) placeUnit(i int) bool {
	p := &s.placing
	if i == len(p.units) {
		return s.sized() && s.settle()
	}
	u := &p.units[i]
	for _, team := range s.teamOrder(i, u) {
		if p.nodes <= 0 {
			s.ranOutOfSteps = true
			return false
		}
		p.nodes--
		s.seatUnit(u, team)
		if s.castable(team) && s.teamsMayHold() && s.placeUnit(i+1) {
			return true
		}
		p.sizes[team] -= u.size
		p.strength[team] -= u.strength
		s.put(u, noTeam)
	}
	return false
}

func (s *search) seatUnit(u *unit, team int) {
	s.put(u, team)
	s.placing.sizes[team] += u.size
	s.placing.strength[team] += u.strength
}

// teamsMayHold reports whether the teams, which need not be full, break no rule for good.
func (s *search) teamsMayHold() bool {
	for _, r := range s.plan.rules {
		if r.firm && r.verdict(&s.final).excess > 0 {
			return false
		}
	}
	return true
}

// castable reports whether the places that are left in a team are enough for the roles that nobody of it fills.
func (s *search) castable(team int) bool {
	t := &s.plan.teams[team]
	return len(t.roles) == 0 || s.casting.recast(team, t.roles) <= t.spec.Max-s.placing.sizes[team]
}

// teamOrder returns the teams with a place for a unit: first the one that lacks most of its least size, then the
// emptiest, then the weakest. Of teams that are empty and interchangeable it returns one.
func (s *search) teamOrder(i int, u *unit) []int {
	p := &s.placing
	n := len(s.plan.teams)
	order := p.order[i*n : i*n]
	for team := range n {
		if p.sizes[team]+u.size <= s.plan.teams[team].spec.Max && !s.repeats(order, team) {
			order = append(order, team)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(max(0, p.leastSizes.teams[b]-p.sizes[b]), max(0, p.leastSizes.teams[a]-p.sizes[a])),
			cmp.Compare(p.sizes[a], p.sizes[b]), cmp.Compare(p.strength[a], p.strength[b]))
	})
	return order
}

func (s *search) repeats(order []int, team int) bool {
	p := &s.placing
	return p.sizes[team] == 0 && slices.ContainsFunc(order, func(o int) bool {
		return p.sizes[o] == 0 && s.plan.teams[o].class == s.plan.teams[team].class
	})
}

// sized reports whether every team has a size that the profile allows.
func (s *search) sized() bool {
	for team, size := range s.placing.sizes {
		if !s.plan.teams[team].allows(size, s.placing.leastSizes.teams[team]) {
			return false
		}
	}
	return true
}

func (t *team) allows(size, least int) bool {
	return size >= least && size <= t.spec.Max && (t.spec.Step <= 1 || (size-least)%t.spec.Step == 0)
}

// strength is what is balanced between teams: the first `balance` rule's numbers, else the pivot's.
func (pl *plan) strength(c *candidate, player int) float64 {
	if pl.even.column < 0 {
		return 0
	}
	total := 0.0
	for i, x := range c.column(pl.even.column) {
		if pl.even.byRole != nil {
			x = c.wishedRating(pl.even.column, pl.even.byRole, i)
		}
		if (player < 0 || i == player) && x == x {
			total += x
		}
	}
	return total
}

// packs reports whether the parties of the line-up and c fit into the teams without being split. Players who came alone
// fit wherever there is room.
func (s *search) packs(l *lineup, c *candidate) bool {
	if s.plan.split {
		return true
	}
	parties := s.parties(l, c)
	if len(parties) < 2 {
		return len(parties) == 0 || parties[0] <= s.plan.largestParty()
	}
	slices.SortFunc(parties, func(a, b int) int { return b - a })
	room := make([]int, len(s.plan.teams))
	for i := range room {
		room[i] = s.plan.teams[i].spec.Max
	}
	steps := 256
	return packInto(room, parties, &steps)
}

// parties returns the sizes of those that are more than one player.
func (s *search) parties(l *lineup, c *candidate) []int {
	parties := s.placing.parties[:0]
	if c.size > 1 {
		parties = append(parties, c.size)
	}
	for _, pick := range l.picks {
		if pick.size > 1 {
			parties = append(parties, pick.size)
		}
	}
	s.placing.parties = parties
	return parties
}

// packInto looks for a place for each party, the largest first. It returns true when the steps are used up, because
// what follows decides exactly.
func packInto(room, parties []int, steps *int) bool {
	if len(parties) == 0 {
		return true
	}
	for i, free := range room {
		if free < parties[0] || slices.Contains(room[:i], free) {
			continue
		}
		if *steps--; *steps < 0 {
			return true
		}
		room[i] -= parties[0]
		if packInto(room, parties[1:], steps) {
			return true
		}
		room[i] += parties[0]
	}
	return false
}
