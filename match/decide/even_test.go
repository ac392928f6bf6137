package decide

import (
	"math"
	"math/bits"
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
			total, best := 0.0, 0.0
			for i := range found {
				total += math.Abs(teamSum(&found[i].Teams[0], skills)-teamSum(&found[i].Teams[1], skills)) / 5
				best += bestSplit(&found[i], skills) / 5
			}
			t.Logf("of %d matches: %.2f, at best %.2f", len(found), total/float64(len(found)), best/float64(len(found)))
			require.LessOrEqual(t, total, 1.5*best)
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
	total, best := 0.0, 0.0
	found := decide(p, tickets...)
	require.Greater(t, len(found), 200)
	for i := range found {
		total += math.Abs(ticketSum(&found[i].Teams[0], skills)-ticketSum(&found[i].Teams[1], skills)) / 5
		best += bestPartySplit(&found[i], skills) / 5
	}
	t.Logf("of %d matches: %.2f, at best %.2f", len(found), total/float64(len(found)), best/float64(len(found)))
	require.LessOrEqual(t, total, 1.01*best)
}

// Pins exchanges that are left out though they make teams more even: sums that are added up anew are rounded otherwise.
func TestNoEvenerExchangeIsLeftOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := search{plan: &plan{}}
		s.plan.evenBy.teamFold = rapid.SampledFrom([]profile.Fold{profile.FoldMean, profile.FoldSum, profile.FoldMin,
			profile.FoldMax}).Draw(t, "teams")
		e := &s.evening
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
					value := s.unevenValue()
					exchange(i, others)
					s.unevenValue()
					require.True(t, s.mayBeEvener(math.Nextafter(value, math.Inf(1)), i, others...), "%d for %v", i,
						others)
				}
			}
		}
	})
}

// ticketSum adds up the numbers of a team's tickets.
func ticketSum(team *Team, of map[string]float64) (total float64) {
	for i, s := range team.Seats {
		if i == 0 || team.Seats[i-1].Ticket != s.Ticket {
			total += of[s.Ticket]
		}
	}
	return total
}

// bestPartySplit is bestSplit where parties stay together.
func bestPartySplit(p *Proposal, skills map[string]float64) float64 {
	sizes := map[string]int{}
	for _, team := range p.Teams {
		for _, s := range team.Seats {
			sizes[s.Ticket]++
		}
	}
	best := math.Inf(1)
	for side := range uint(1) << len(p.Tickets) {
		difference, players := 0.0, 0
		for i, id := range p.Tickets {
			sign := 1 - 2*int(side>>i&1)
			difference += float64(sign) * skills[id]
			players += sign * sizes[id]
		}
		if players == 0 {
			best = min(best, math.Abs(difference))
		}
	}
	return best
}

func skillOf(t *match.Ticket) float64 { return t.Players[0].Attributes["skill"].Number }

func teamSum(team *Team, skills map[string]float64) (total float64) {
	for _, s := range team.Seats {
		total += skills[s.Ticket]
	}
	return total
}

// bestSplit returns the least difference of the sums of two teams of 5 of the same players, by trying all.
func bestSplit(p *Proposal, skills map[string]float64) float64 {
	best := math.Inf(1)
	for side := range uint(1) << len(p.Tickets) {
		if bits.OnesCount(side) != len(p.Tickets)/2 {
			continue
		}
		difference := 0.0
		for i, id := range p.Tickets {
			if side&(1<<i) != 0 {
				difference += skills[id]
			} else {
				difference -= skills[id]
			}
		}
		best = min(best, math.Abs(difference))
	}
	return best
}
