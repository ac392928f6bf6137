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
		p := &profile.Profile{Name: Name, TTL: 10 * time.Minute, Age: ages.Draw(t, "age")}
		p.Teams = drawTeams(t)
		p.Pool = rapid.SampledFrom([]*match.Pool{nil, {}, {Tags: []string{"ranked"}}}).Draw(t, "pool")
		p.Modes = rapid.SampledFrom([][]string{nil, {"arena"}, {"arena", "duel"}}).Draw(t, "modes")
		p.Regions = rapid.SampledFrom([][]string{nil, regions}).Draw(t, "regions")
		if rapid.Bool().Draw(t, "declared") {
			p.Attributes = map[string]profile.Attribute{"skill": {Kind: match.Number,
				Default: &match.Value{Kind: match.Number, Number: 2}}}
		}
		if rapid.Bool().Draw(t, "fewer") {
			p.Fewer = drawFewer(t, p.Teams)
		}
		if rapid.IntRange(0, 3).Draw(t, "bots") == 0 {
			// Later than every step of fewer, as Parse demands.
			p.BotsAfter = time.Minute
		}
		if rapid.IntRange(0, 2).Draw(t, "autofill") == 0 &&
			slices.ContainsFunc(p.Teams, func(t profile.Team) bool { return len(t.Roles) > 0 }) {
			p.Autofill = later.Draw(t, "autofill after")
		}
		drawPreferences(t, p)
		d := drawer{t: t, p: p}
		for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
			p.Rules = append(p.Rules, d.drawRule(fmt.Sprintf("rule-%d", i), 0))
		}
		for i := range max(0, rapid.IntRange(-3, 3).Draw(t, "preferences")) {
			p.Prefer = append(p.Prefer, d.drawPreference(fmt.Sprintf("prefer-%d", i)))
		}
		return p
	})
}

// drawPreferences draws what changes which matches are found, and not which are valid.
func drawPreferences(t *rapid.T, p *profile.Profile) {
	if rapid.IntRange(0, 3).Draw(t, "batch") == 0 {
		p.Batch = profile.Batch{Attribute: "skill", For: later.Draw(t, "batch for")}
	}
	if rapid.IntRange(0, 3).Draw(t, "priority") == 0 {
		p.Priority = profile.Priority{Attribute: "level", UpTo: later.Draw(t, "priority up to")}
	}
	drawTrade(t, p)
	switch rapid.IntRange(0, 5).Draw(t, "order") {
	case 0:
		p.Order = []profile.Order{{Distance: "skill"}, {Value: "level", Descending: true}}
	case 1:
		p.Order = []profile.Order{{Value: "level"}}
	}
}

// drawTrade draws what waiting is worth, of which some matches are due at once and some later.
func drawTrade(t *rapid.T, p *profile.Profile) {
	rate := rapid.SampledFrom([]float64{0.05, 1, 20})
	switch rapid.IntRange(0, 9).Draw(t, "trade") {
	case 0:
		p.Trade = []profile.Trade{{Attribute: "skill", PerSecond: rate.Draw(t, "rate")}}
	case 1:
		p.Trade = []profile.Trade{
			{Quality: profile.OfBalance, Attribute: "skill", Teams: profile.FoldMean, PerSecond: rate.Draw(t, "rate")},
			{Quality: profile.OfLatency, PerSecond: rate.Draw(t, "latency rate")},
			{Attribute: "level", PerSecond: rate.Draw(t, "level rate")},
		}
	}
}

func drawTeams(t *rapid.T) (teams []profile.Team) {
	split := rapid.IntRange(0, 5).Draw(t, "split") == 0
	for i := range rapid.IntRange(1, 3).Draw(t, "teams") {
		team := profile.Team{Name: string(rune('r' + i)), Step: 1, AllowSplit: split}
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

// drawRoles returns roles that need no more players than the least size of their team.
func drawRoles(t *rapid.T, team profile.Team) (drawn []profile.Role) {
	if rapid.IntRange(0, 2).Draw(t, "roles") > 0 {
		return nil
	}
	players := team.Min
	for _, name := range []string{"healer", "tank"} {
		least := rapid.IntRange(0, min(1, players)).Draw(t, name)
		most := rapid.IntRange(1, min(2, team.Max)).Draw(t, name+" at most")
		drawn, players = append(drawn, profile.Role{Name: name, Min: least, Max: most}), players-least
	}
	return drawn
}

// drawFewer lowers the least size of all teams that can be smaller than that, as far as their roles allow.
func drawFewer(t *rapid.T, teams []profile.Team) []profile.Fewer {
	least := map[string]int{}
	for _, team := range teams {
		// At least one player, and as many as the roles take.
		needed := 1
		for _, role := range team.Roles {
			needed = max(needed, team.Roles[0].Min+team.Roles[len(team.Roles)-1].Min, role.Min)
		}
		least[team.Name] = team.Min
		if team.Step == 1 && team.Min > needed {
			least[team.Name] = team.Min - 1
		}
	}
	return []profile.Fewer{{AfterWait: later.Draw(t, "fewer after"), Players: least}}
}
