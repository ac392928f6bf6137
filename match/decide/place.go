package decide

import (
	"cmp"
	"slices"
)

// placing distributes the tickets of a line-up over the teams.
type placing struct {
	units          []unit
	teamSizes      []int     // by team: players
	teamStrengths  []float64 // by team
	orderScratch   []int     // scratch: of teams, for each unit
	leastSizes     *leastStep
	stepsLeft      int  // steps that are left
	hasExchanged   bool // exchanges were tried
	holdingRegions uint64
	verdicts       []verdict // by rule
	teamsBefore    []int     // scratch: the teams before exchanges
	partyScratch   []int     // scratch: sizes
}

// unit is what stays in one team: a party, or a player where parties may be split.
type unit struct {
	pickIndex   int
	playerIndex int // -1: the whole party
	playerCount int
	strength    float64
}

// maxPlacing bounds the steps of one distribution.
const maxPlacing = 256

// placeTeams looks for teams and roles with which every rule holds, the largest parties first.
func (s *search) placeTeams(least *leastStep) bool {
	s.finalLine.copyByID(&s.line)
	if !s.holdsWithoutTeams() {
		return false
	}
	if s.distributeUnits(least, false) {
		return true
	}
	return s.plan.maySplit && s.distributeUnits(least, true)
}

func (s *search) distributeUnits(least *leastStep, split bool) bool {
	p := &s.placing
	s.beginPlacing(least, split)
	// Enough to seat each unit once even if the search has hardly a step left: a line-up that is complete is judged.
	p.stepsLeft = len(p.units) + min(maxPlacing, max(s.stepsLeft, 32))
	spent := p.stepsLeft
	found := s.placeUnit(0)
	s.stepsLeft -= spent - p.stepsLeft
	return found
}

// beginPlacing cuts the line-up into units that are in no team.
func (s *search) beginPlacing(least *leastStep, split bool) {
	p := &s.placing
	p.leastSizes, p.hasExchanged = least, false
	s.cutUnits(split)
	p.teamSizes = append(p.teamSizes[:0], make([]int, len(s.plan.teams))...)
	p.teamStrengths = append(p.teamStrengths[:0], make([]float64, len(s.plan.teams))...)
	p.orderScratch = append(p.orderScratch[:0], make([]int, len(p.units)*len(s.plan.teams))...)
	s.casting.resetRoles(&s.finalLine)
}

// holdsWithoutTeams judges the rules that need no teams; the others are judged when there are some.
func (s *search) holdsWithoutTeams() bool {
	over, regions := s.judgeRules(false)
	s.placing.holdingRegions = regions
	return over == 0 && (regions != 0 || s.finalLine.allowedRegions == 0)
}

// judgeRules judges the rules that look at teams or roles, or the others, and returns how far they are from holding, and
// where all of them hold.
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

// cutUnits makes the units: the largest first, then the strongest.
func (s *search) cutUnits(split bool) {
	p := &s.placing
	p.units = p.units[:0]
	for pick, c := range s.finalLine.picks {
		if !split {
			p.units = append(p.units, unit{pick, -1, c.playerCount, s.plan.strengthOf(c, -1)})
			continue
		}
		for player := range c.playerCount {
			p.units = append(p.units, unit{pick, player, 1, s.plan.strengthOf(c, player)})
		}
	}
	slices.SortStableFunc(p.units, func(a, b unit) int {
		return cmp.Or(cmp.Compare(b.playerCount, a.playerCount), cmp.Compare(b.strength, a.strength))
	})
}

// putUnit moves a unit into a team, or out of all with noTeam.
func (s *search) putUnit(u *unit, team int) {
	if u.playerIndex < 0 {
		s.finalLine.setTeam(u.pickIndex, team)
		return
	}
	s.finalLine.teamByPlayer[s.finalLine.firstPlayer[u.pickIndex]+u.playerIndex] = team
}

func (s *search) teamOf(u *unit) int {
	return s.finalLine.teamByPlayer[s.finalLine.firstPlayer[u.pickIndex]+max(u.playerIndex, 0)]
}

// placeUnit puts unit i and all after it into teams.
func (s *search) placeUnit(i int) bool {
	p := &s.placing
	if i == len(p.units) {
		return s.hasValidSizes() && s.settleTeams()
	}
	u := &p.units[i]
	for _, team := range s.teamOrder(i, u) {
		if p.stepsLeft <= 0 {
			s.ranOutOfSteps = true
			return false
		}
		p.stepsLeft--
		s.seatUnit(u, team)
		if s.isCastable(team) && s.teamsMayHold() && s.placeUnit(i+1) {
			return true
		}
		p.teamSizes[team] -= u.playerCount
		p.teamStrengths[team] -= u.strength
		s.putUnit(u, noTeam)
	}
	return false
}

func (s *search) seatUnit(u *unit, team int) {
	s.putUnit(u, team)
	s.placing.teamSizes[team] += u.playerCount
	s.placing.teamStrengths[team] += u.strength
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

// isCastable reports whether the places that are left in a team are enough for the roles that nobody of it fills.
func (s *search) isCastable(team int) bool {
	t := &s.plan.teams[team]
	return len(t.roleNeeds) == 0 || s.casting.recastTeam(team, t.roleNeeds) <= t.spec.Max-s.placing.teamSizes[team]
}

// teamOrder returns the teams with a place for a unit: first the one that lacks most of its least size, then the
// emptiest, then the weakest. Of teams that are empty and interchangeable it returns one.
func (s *search) teamOrder(i int, u *unit) []int {
	p := &s.placing
	n := len(s.plan.teams)
	order := p.orderScratch[i*n : i*n]
	for team := range n {
		if p.teamSizes[team]+u.playerCount <= s.plan.teams[team].spec.Max && !s.repeatsClass(order, team) {
			order = append(order, team)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(max(0, p.leastSizes.teamSizes[b]-p.teamSizes[b]),
			max(0, p.leastSizes.teamSizes[a]-p.teamSizes[a])),
			cmp.Compare(p.teamSizes[a], p.teamSizes[b]), cmp.Compare(p.teamStrengths[a], p.teamStrengths[b]))
	})
	return order
}

func (s *search) repeatsClass(order []int, team int) bool {
	p := &s.placing
	return p.teamSizes[team] == 0 && slices.ContainsFunc(order, func(o int) bool {
		return p.teamSizes[o] == 0 && s.plan.teams[o].classIndex == s.plan.teams[team].classIndex
	})
}

// hasValidSizes reports whether every team has a size that the profile allows.
func (s *search) hasValidSizes() bool {
	for team, size := range s.placing.teamSizes {
		if !s.plan.teams[team].allowsSize(size, s.placing.leastSizes.teamSizes[team]) {
			return false
		}
	}
	return true
}

func (t *team) allowsSize(size, least int) bool {
	return size >= least && size <= t.spec.Max && (t.spec.Step <= 1 || (size-least)%t.spec.Step == 0)
}

// strengthOf is what is balanced between teams: the first `balance` rule's numbers, else the pivot's.
func (pl *plan) strengthOf(c *candidate, player int) float64 {
	if pl.evenBy.numberColumn < 0 {
		return 0
	}
	total := 0.0
	for i, x := range c.numbersOf(pl.evenBy.numberColumn) {
		if pl.evenBy.byRole != nil {
			x = c.wishedRating(pl.evenBy.numberColumn, pl.evenBy.byRole, i)
		}
		if (player < 0 || i == player) && x == x {
			total += x
		}
	}
	return total
}

// canPack reports whether the parties of the line-up and c fit into the teams without being split. Players who came alone
// fit wherever there is room.
func (s *search) canPack(l *lineup, c *candidate) bool {
	if s.plan.maySplit {
		return true
	}
	parties := s.partySizes(l, c)
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

// partySizes returns the sizes of those that are more than one player.
func (s *search) partySizes(l *lineup, c *candidate) []int {
	parties := s.placing.partyScratch[:0]
	if c.playerCount > 1 {
		parties = append(parties, c.playerCount)
	}
	for _, pick := range l.picks {
		if pick.playerCount > 1 {
			parties = append(parties, pick.playerCount)
		}
	}
	s.placing.partyScratch = parties
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
