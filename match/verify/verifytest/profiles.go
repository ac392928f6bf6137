package verifytest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Name is the name of each generated profile.
const Name = "generated"

// Profiles generates valid profiles with 1 to 3 teams of up to 3 players each, and up to 4 rules of all kinds.
func Profiles() *rapid.Generator[*profile.Profile] {
	return rapid.Custom(func(t *rapid.T) *profile.Profile {
		p := &profile.Profile{Name: Name, TTL: 10 * time.Minute, Age: ageKinds.Draw(t, "age")}
		p.Teams = drawTeams(t)
		p.Pool = rapid.SampledFrom([]*match.Pool{nil, {}, {Tags: []string{"ranked"}}}).Draw(t, "pool")
		p.Modes = rapid.SampledFrom([][]string{nil, {"arena"}, {"arena", "duel"}}).Draw(t, "modes")
		p.Regions = rapid.SampledFrom([][]string{nil, regions}).Draw(t, "regions")
		if rapid.Bool().Draw(t, "declared") {
			p.Attributes = map[string]profile.Attribute{"skill": {Kind: match.Number,
				Default: &match.Value{Kind: match.Number, Number: 2}}}
		}
		drawWaiting(t, p)
		drawPriorities(t, p)
		d := ruleDrawer{t: t, p: p}
		for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
			p.Rules = append(p.Rules, d.drawRule(fmt.Sprintf("rule-%d", i), 0))
		}
		for i := range max(0, rapid.IntRange(-3, 3).Draw(t, "preferences")) {
			p.Prefer = append(p.Prefer, d.drawPreference(fmt.Sprintf("prefer-%d", i)))
		}
		return p
	})
}

// drawWaiting draws what the profile allows, beside its rules, when tickets have waited.
func drawWaiting(t *rapid.T, p *profile.Profile) {
	if rapid.Bool().Draw(t, "fewer") {
		p.Fewer = []profile.Fewer{{AfterWait: stepAges.Draw(t, "fewer after"), Players: fewerPlayers(p.Teams)}}
	}
	if rapid.IntRange(0, 3).Draw(t, "bots") == 0 {
		// Later than every step of fewer, as Parse demands.
		p.BotsAfter = time.Minute
	}
	if rapid.IntRange(0, 2).Draw(t, "autofill") == 0 &&
		slices.ContainsFunc(p.Teams, func(t profile.Team) bool { return len(t.Roles) > 0 }) {
		p.Autofill = stepAges.Draw(t, "autofill after")
	}
}

// fewerPlayers returns a least size for each team: one player less than now, where the team's step and its roles allow
// that.
func fewerPlayers(teams []profile.Team) map[string]int {
	least := map[string]int{}
	for _, team := range teams {
		needed := 0
		for _, role := range team.Roles {
			needed += role.Min
		}
		// Less would also be valid, but would change the queues that tests name by their seed: see RandomQueue.
		if len(team.Roles) == 1 {
			needed *= 2
		}
		least[team.Name] = team.Min
		if team.Step == 1 && team.Min > max(1, needed) {
			least[team.Name]--
		}
	}
	return least
}

// drawPriorities draws what changes which of the valid matches are made, and when.
func drawPriorities(t *rapid.T, p *profile.Profile) {
	if rapid.IntRange(0, 3).Draw(t, "batch") == 0 {
		p.Batch = profile.Batch{Attribute: "skill", For: stepAges.Draw(t, "batch for")}
	}
	if rapid.IntRange(0, 3).Draw(t, "priority") == 0 {
		p.Priority = profile.Priority{Attribute: "level", UpTo: stepAges.Draw(t, "priority up to")}
	}
	p.Trade = drawTrade(t)
	switch rapid.IntRange(0, 5).Draw(t, "order") {
	case 0:
		p.Order = []profile.Order{{Distance: "skill"}, {Value: "level", Descending: true}}
	case 1:
		p.Order = []profile.Order{{Value: "level"}}
	}
}

// drawTrade draws what waiting is worth, mostly nothing. At these rates some matches are due at once and some later.
func drawTrade(t *rapid.T) []profile.Trade {
	rate := rapid.SampledFrom([]float64{0.05, 1, 20})
	switch rapid.IntRange(0, 9).Draw(t, "trade") {
	case 0:
		return []profile.Trade{{Attribute: "skill", PerSecond: rate.Draw(t, "rate")}}
	case 1:
		return []profile.Trade{
			{Quality: profile.OfBalance, Attribute: "skill", Teams: profile.FoldMean, PerSecond: rate.Draw(t, "rate")},
			{Quality: profile.OfLatency, PerSecond: rate.Draw(t, "latency rate")},
			{Attribute: "level", PerSecond: rate.Draw(t, "level rate")},
		}
	}
	return nil
}

func drawTeams(t *rapid.T) (teams []profile.Team) {
	allowsSplit := rapid.IntRange(0, 5).Draw(t, "split") == 0
	for i := range rapid.IntRange(1, 3).Draw(t, "teams") {
		team := profile.Team{Name: teamName(i), Step: 1, AllowSplit: allowsSplit}
		team.Min = rapid.IntRange(1, 3).Draw(t, "min")
		team.Max = rapid.IntRange(team.Min, 3).Draw(t, "max")
		// Steps must lead from the least size to the greatest.
		if team.Max == team.Min+2 {
			team.Step = rapid.IntRange(1, 2).Draw(t, "step")
		}
		team.Roles = drawRoles(t, team)
		teams = append(teams, team)
	}
	return teams
}

// teamName returns the name of the i-th team: r, s, t or u.
func teamName(i int) string { return string(rune('r' + i)) }

// drawRoles draws no roles, or roles that need no more players than the least size of their team.
func drawRoles(t *rapid.T, team profile.Team) (drawn []profile.Role) {
	if rapid.IntRange(0, 2).Draw(t, "roles") > 0 {
		return nil
	}
	players := team.Min
	for _, name := range []string{"healer", "tank"} { // sorted, as Parse sorts them
		least := rapid.IntRange(0, min(1, players)).Draw(t, name)
		players -= least
		most := rapid.IntRange(1, min(2, team.Max)).Draw(t, name+" at most")
		drawn = append(drawn, profile.Role{Name: name, Min: least, Max: most})
	}
	return drawn
}
