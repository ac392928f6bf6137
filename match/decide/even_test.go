package decide

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Pins teams that are much farther apart than the same players have to be: the difference of means is near that of the
// best split, with a rule on balance and without.
func TestTeamsAreEven(t *testing.T) {
	t.Parallel()
	balance := profile.Rule{ID: "balance", Kind: profile.Balance, Attribute: "skill", Teams: profile.FoldMean,
		Limits: profile.Limits{Within: 500}}
	for name, p := range map[string]*profile.Profile{
		"near": with(game(5, 5), nearSkill(400)), "balance": with(game(5, 5), nearSkill(400), balance),
		"balance alone": with(game(5, 5), balance),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tickets := crowd(3000, 7)
			skills := map[string]float64{}
			for _, ticket := range tickets {
				skills[ticket.ID] = skillOf(ticket)
			}
			found := decide(p, tickets...)
			require.Greater(t, len(found), 200)
			requireEven(t, found, skills, 1.5)
		})
	}
}

// Pins a party of two that is never exchanged for two players who came alone, so that it stays in the team where it was
// put.
func TestTeamsWithPartiesAreEven(t *testing.T) {
	t.Parallel()
	p := with(game(5, 5), nearSkill(400))
	tickets := crowd(3000, 7)
	skills := map[string]float64{}
	for i, ticket := range tickets {
		party([]int{1, 1, 2, 2, 3}[i%5])(ticket)
		skills[ticket.ID] = float64(len(ticket.Players)) * skillOf(ticket)
	}
	found := decide(p, tickets...)
	require.Greater(t, len(found), 200)
	requireEven(t, found, skills, 1.01)
}

// requireEven requires that the two teams of 5 differ by at most so many times the difference of the best split of the
// same tickets, on average. The numbers are those of tickets. A split gives both teams as many players of each role,
// and is found by trying all.
func requireEven(t *testing.T, found []Proposal, numbers map[string]float64, times float64) {
	t.Helper()
	total, best := 0.0, 0.0
	for _, p := range found {
		roles, difference := map[string][]string{}, 0.0
		for i, team := range p.Teams {
			for _, s := range team.Seats {
				if roles[s.Ticket] == nil {
					difference += float64(1-2*i) * numbers[s.Ticket]
				}
				roles[s.Ticket] = append(roles[s.Ticket], s.Role)
			}
		}
		total += math.Abs(difference) / 5
		least := math.Inf(1)
		for side := range uint(1) << len(p.Tickets) {
			difference, players := 0.0, [4]int{}
			for i, id := range p.Tickets {
				sign := 1 - 2*int(side>>i&1)
				difference += float64(sign) * numbers[id]
				for _, role := range roles[id] {
					players[slices.Index([]string{"", "damage", "support", "tank"}, role)] += sign
				}
			}
			if players == [4]int{} {
				least = min(least, math.Abs(difference))
			}
		}
		best += least / 5
	}
	t.Logf("of %d matches: %.2f, at best %.2f", len(found), total/float64(len(found)), best/float64(len(found)))
	require.LessOrEqual(t, total, times*best)
}

// Pins exchanges that are left out though they make teams more even: sums that are added up anew are rounded otherwise.
func TestNoEvenerExchangeIsLeftOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := search{plan: &plan{}}
		s.plan.evenBy.teamFold = rapid.SampledFrom([]profile.Fold{profile.FoldMean, profile.FoldSum, profile.FoldMin,
			profile.FoldMax}).Draw(t, "teams")
		e := &s.evenSplit
		e.teamWeights = make([]weight, rapid.IntRange(2, 4).Draw(t, "number of teams"))
		for range rapid.IntRange(3, 12).Draw(t, "units") {
			x := rapid.Float64Range(-3000, 3000).Draw(t, "number")
			e.unitWeights = append(e.unitWeights, weight{x, x, x, rapid.IntRange(0, 2).Draw(t, "players with numbers")})
			e.absoluteSum += math.Abs(x)
			e.unitTeams = append(e.unitTeams, rapid.IntRange(0, len(e.teamWeights)-1).Draw(t, "team"))
		}
		exchange := func(i int, others []int) {
			a := e.unitTeams[i]
			e.unitTeams[i] = e.unitTeams[others[0]]
			for _, j := range others {
				e.unitTeams[j] = a
			}
		}
		for i := range e.unitTeams {
			for j := range e.unitTeams {
				for _, others := range [][]int{{j}, {j, (j + 1) % len(e.unitTeams)}} {
					if e.unitTeams[i] == e.unitTeams[j] || e.unitTeams[others[len(others)-1]] != e.unitTeams[j] {
						continue
					}
					exchange(i, others)
					value := s.weighTeams()
					exchange(i, others)
					s.weighTeams()
					require.True(t, s.mayBeEvener(math.Nextafter(value, math.Inf(1)), i, others...), "%d for %v", i,
						others)
				}
			}
		}
	})
}

func skillOf(t *match.Ticket) float64 { return t.Players[0].Attributes["skill"].Number }
