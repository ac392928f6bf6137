package verifytest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// LargeProfiles generates valid profiles of matches with more than 40 players. They have only some kinds of rules.
func LargeProfiles() *rapid.Generator[*profile.Profile] {
	return rapid.Custom(func(t *rapid.T) *profile.Profile {
		p := &profile.Profile{Name: Name, TTL: 10 * time.Minute, Age: ageKinds.Draw(t, "age"), Pool: &match.Pool{}}
		teams := rapid.IntRange(1, 4).Draw(t, "teams")
		for i := range teams {
			most := rapid.IntRange(44/teams, 60/teams).Draw(t, "most")
			least := rapid.IntRange(most/2, most).Draw(t, "least")
			p.Teams = append(p.Teams, profile.Team{Name: teamName(i), Min: least, Max: most, Step: 1})
		}
		drawPriorities(t, p)
		d := ruleDrawer{t: t, p: p}
		for i := range rapid.IntRange(0, 3).Draw(t, "rules") {
			p.Rules = append(p.Rules, d.drawLargeRule(fmt.Sprintf("rule-%d", i)))
		}
		return p
	})
}

// drawLargeRule draws a rule that few of many tickets break.
func (d ruleDrawer) drawLargeRule(id string) profile.Rule {
	r := newRule(d.p)
	r.ID = id
	kinds := rapid.SampledFrom([]profile.RuleKind{profile.Same, profile.Near, profile.Latency, profile.Avoid,
		profile.Balance, profile.Common})
	r.Kind = kinds.Filter(d.suitsTeams).Draw(d.t, "kind")
	d.fillRule(&r, deepestLevel)
	r.PerTeam = r.PerTeam && r.Kind == profile.Avoid // hardly a team of so many players has equal values
	r.Limits.AtLeast = min(r.Limits.AtLeast, 1)      // hardly two values are in the lists of so many players
	if d.drawFlag("widen") {
		d.widenRule(&r)
	}
	return r
}

// LargeQueues generates tickets for [LargeProfiles], mostly alike, with at least 40 to 80 players.
func LargeQueues() *rapid.Generator[[]match.Ticket] {
	return rapid.Custom(func(t *rapid.T) (tickets []match.Ticket) {
		models := Tickets(6).Draw(t, "models")
		players := 0
		for least := rapid.IntRange(40, 80).Draw(t, "players"); players < least; {
			ticket := drawModel(t, models)
			ticket.ID = fmt.Sprintf("t%03d", len(tickets))
			ticket.Players = slices.Clone(ticket.Players)
			for i := range ticket.Players {
				players++
				ticket.Players[i].Sub = fmt.Sprintf("p%03d", players)
			}
			tickets = append(tickets, ticket)
		}
		return tickets
	})
}

// drawModel draws one of the models, the last ones most often: most tickets are alike, as a match of so many needs.
func drawModel(t *rapid.T, models []match.Ticket) match.Ticket {
	square := rapid.IntRange(0, len(models)*len(models)-1).Draw(t, "like")
	return models[int(math.Sqrt(float64(square)))]
}
