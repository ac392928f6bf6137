package decide

import (
	"cmp"
	"math"
	"slices"
)

// cutUnits makes the units: the largest first, for which the fewest teams have room, then the strongest.
func (s *search) cutUnits(split bool) {
	p := &s.placement
	p.units = p.units[:0]
	for pick, c := range s.finalLine.picks {
		if !split {
			p.units = append(p.units, unit{pick, wholeParty, c.playerCount, s.plan.strengthOf(c, wholeParty)})
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
	if u.playerIndex == wholeParty {
		s.finalLine.setTeam(u.pickIndex, team)
		return
	}
	s.finalLine.teamByPlayer[s.finalLine.firstPlayer[u.pickIndex]+u.playerIndex] = team
}

// teamOf returns the team of a unit: of a whole party that of its first player, since all are in one.
func (s *search) teamOf(u *unit) int {
	return s.finalLine.teamByPlayer[s.finalLine.firstPlayer[u.pickIndex]+max(u.playerIndex, 0)]
}

func (s *search) swapUnits(a, b *unit) {
	x, y := s.teamOf(a), s.teamOf(b)
	s.putUnit(a, y)
	s.putUnit(b, x)
}

// strengthOf returns the sum of the numbers of the plan's evenBy, by which place.go balances teams: of a player of c, or
// of its whole party.
func (pl *plan) strengthOf(c *candidate, player int) float64 {
	if pl.evenBy.numberColumn < 0 {
		return 0
	}
	total := 0.0
	for i, x := range c.numbersOf(pl.evenBy.numberColumn) {
		if pl.evenBy.byRole != nil {
			// Roles are given later: the one that the player prefers stands for them.
			x = c.wishedRating(pl.evenBy.numberColumn, pl.evenBy.byRole, i)
		}
		if (player == wholeParty || i == player) && !math.IsNaN(x) {
			total += x
		}
	}
	return total
}
