package verifytest

import (
	"fmt"
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// LargeProfiles generates valid profiles of matches with more than 40 players, which have some kinds of rules only.
func LargeProfiles() *rapid.Generator[*profile.Profile] {
	return rapid.Custom(func(t *rapid.T) *profile.Profile {
		p := &profile.Profile{Name: Name, TTL: 10 * time.Minute, Age: ages.Draw(t, "age"), Pool: &match.Pool{}}
		teams := rapid.IntRange(1, 4).Draw(t, "teams")
		for i := range teams {
			most := rapid.IntRange(44/teams, 60/teams).Draw(t, "most")
			least := rapid.IntRange(most/2, most).Draw(t, "least")
			p.Teams = append(p.Teams, profile.Team{Name: string(rune('r' + i)), Min: least, Max: most, Step: 1})
		}
		drawPreferences(t, p)
		d := drawer{t: t, p: p}
		for i := range rapid.IntRange(0, 3).Draw(t, "rules") {
			p.Rules = append(p.Rules, d.largeRule(fmt.Sprintf("rule-%d", i)))
		}
		return p
	})
}

// largeRule draws a rule that few of many tickets break.
func (d drawer) largeRule(id string) profile.Rule {
	r := profile.Rule{ID: id, Age: d.p.Age, Limits: profile.Limits{Max: profile.NoMax, Spread: profile.NoSpread}}
	large := []profile.RuleKind{profile.Same, profile.Near, profile.Latency, profile.Avoid, profile.Balance,
		profile.Common}
	r.Kind = rapid.SampledFrom(large).Filter(d.suitsTeams).Draw(d.t, "kind")
	d.fillRule(&r, depth)
	r.PerTeam = r.PerTeam && r.Kind == profile.Avoid // hardly a team of so many players has equal values
	r.Limits.AtLeast = min(r.Limits.AtLeast, 1)
	if d.drawFlag("widen") {
		d.widenRule(&r)
	}
	return r
}

// Crowd generates tickets for [LargeProfiles], mostly alike, with 40 to 80 players.
func Crowd() *rapid.Generator[[]match.Ticket] {
	return rapid.Custom(func(t *rapid.T) (tickets []match.Ticket) {
		models := Tickets(6).Draw(t, "models")
		players := 0
		for n := rapid.IntRange(40, 80).Draw(t, "players"); players < n; {
			// The root prefers the last models: most tickets are alike, as a match of so many needs.
			ticket := models[int(math.Sqrt(float64(rapid.IntRange(0, len(models)*len(models)-1).Draw(t, "like"))))]
			ticket.ID = fmt.Sprintf("t%03d", len(tickets))
			ticket.Players = append([]match.Player(nil), ticket.Players...)
			for i := range ticket.Players {
				players++
				ticket.Players[i].Sub = fmt.Sprintf("p%03d", players)
			}
			tickets = append(tickets, ticket)
		}
		return tickets
	})
}
