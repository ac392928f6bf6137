package verifytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Queue is a profile with tickets that wait for it.
type Queue struct {
	Profile *profile.Profile
	Tickets []match.Ticket
}

// Balanced reports whether a rule of the queue's profile compares the teams' values.
func (q Queue) Balanced() bool { return slices.ContainsFunc(q.Profile.Rules, hasBalance) }

func hasBalance(r profile.Rule) bool {
	return r.Kind == profile.Balance || slices.ContainsFunc(r.Rules, hasBalance)
}

// RandomQueue returns a valid profile with 1 to 4 teams of 1 to 5 players and up to 4 rules of all kinds, and 60 to 150
// tickets as the players of a game would have: unlike those of [Tickets], most of them fit with some of the others, and
// a match of them has to be searched. All times are before [Now].
//
// Tests name queues by the seed of random: whoever changes the order of the draws changes all of these queues.
func RandomQueue(random *rand.Rand) Queue {
	d := queueDrawer{random}
	p := d.drawProfile()
	q := Queue{Profile: p}
	for i := range 60 + random.IntN(91) {
		q.Tickets = append(q.Tickets, d.drawTicket(i, p.Teams[0].Max))
	}
	// All teams have the roles of the first one.
	if p.Teams[0].Roles != nil && d.drawOneIn(3) {
		d.rateRoles(q)
	}
	if d.drawOneIn(4) {
		for i := range 1 + random.IntN(3) {
			p.Prefer = append(p.Prefer, d.drawPreference(p, fmt.Sprintf("prefer-%d", i)))
		}
	}
	return q
}

// rateRoles gives players a rating per role, which the rules on numbers then compare.
func (d queueDrawer) rateRoles(q Queue) {
	var byRole []profile.RoleAttribute
	for _, r := range q.Profile.Teams[0].Roles {
		byRole = append(byRole, profile.RoleAttribute{Role: r.Name, Attribute: "skill_" + r.Name})
	}
	for i := range q.Profile.Rules {
		if r := &q.Profile.Rules[i]; r.Kind == profile.Near || r.Kind == profile.Balance {
			r.ByRole = byRole
		}
	}
	for _, t := range q.Tickets {
		for _, p := range t.Players {
			for _, by := range byRole {
				rating := p.Attributes["skill"].Number + 100*d.random.NormFloat64()
				p.Attributes[by.Attribute] = match.Value{Kind: match.Number, Number: math.Round(rating)}
			}
		}
	}
}

// queueDrawer draws what a queue has. Its draws are uniform, where those of rapid prefer small and extreme values.
type queueDrawer struct{ random *rand.Rand }

// drawOneIn returns true with a probability of 1 in n.
func (d queueDrawer) drawOneIn(n int) bool { return d.random.IntN(n) == 0 }

func drawOneOf[E any](d queueDrawer, from ...E) E { return from[d.random.IntN(len(from))] }

// drawProfile draws a profile without preferences.
func (d queueDrawer) drawProfile() *profile.Profile {
	p := &profile.Profile{Name: Name, TTL: 10 * time.Minute, Teams: d.drawTeams()}
	p.Age = drawOneOf(d, profile.Oldest, profile.Oldest, profile.Oldest, profile.Youngest, profile.Mean, profile.Each)
	if d.drawOneIn(6) {
		p.Modes = []string{"arena", "duel"}
	}
	if d.drawOneIn(6) {
		after := drawOneOf(d, 10*time.Second, 30*time.Second)
		p.Fewer = []profile.Fewer{{AfterWait: after, Players: fewerPlayers(p.Teams)}}
	}
	if d.drawOneIn(8) {
		// Later than every step of fewer, as Parse demands.
		p.BotsAfter = time.Minute
	}
	for i := range d.random.IntN(5) {
		r := d.drawRule(p, allKinds)
		r.ID = fmt.Sprintf("rule-%d", i)
		p.Rules = append(p.Rules, r)
	}
	return p
}

// drawTeams draws teams that are alike but for their names. A single team has room for two players at least: a match of
// one player would need no search.
func (d queueDrawer) drawTeams() (teams []profile.Team) {
	least := 1 + d.random.IntN(5)
	model := profile.Team{Min: least, Max: least, Step: 1, AllowSplit: d.drawOneIn(8)}
	if d.drawOneIn(2) {
		model.Max = least + d.random.IntN(6-least)
	}
	if model.Max == model.Min+2 && d.drawOneIn(3) {
		model.Step = 2
	}
	if d.drawOneIn(2) {
		model.Roles = d.drawRoles(model)
	}
	for i := range 1 + d.random.IntN(4) {
		model.Name = teamName(i)
		teams = append(teams, model)
	}
	if len(teams) == 1 {
		teams[0].Max = max(2, teams[0].Max)
	}
	return teams
}

// drawRoles draws up to two roles that need no more players than the least size of their team.
func (d queueDrawer) drawRoles(team profile.Team) (drawn []profile.Role) {
	players := team.Min
	for _, name := range []string{"healer", "tank"} { // sorted, as Parse sorts them
		role := profile.Role{Name: name, Min: min(players, d.random.IntN(2)), Max: min(team.Max, 1+d.random.IntN(2))}
		if d.random.IntN(4) > 0 {
			drawn = append(drawn, role)
			players -= role.Min
		}
	}
	return drawn
}
