package verify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// player is one player of a match in a table of tests.
type player struct {
	ticket, team, role string
	has                match.Attributes
	ms                 map[string]uint16
	waited             time.Duration
}

func number(n float64) match.Value       { return match.Value{Kind: match.Number, Number: n} }
func text(s string) match.Value          { return match.Value{Kind: match.Text, Text: s} }
func list(texts ...string) match.Value   { return match.Value{Kind: match.List, List: texts} }
func skilled(n float64) match.Attributes { return match.Attributes{"skill": number(n)} }

// seated makes a match of players "p0", "p1" and so on; those with the same ticket are a party.
func seated(players ...player) (m verify.Match) {
	index := map[string]int{}
	for i, p := range players {
		if p.ticket == "" {
			p.ticket = fmt.Sprintf("t%d", i)
		}
		at, ok := index[p.ticket]
		if !ok {
			at, index[p.ticket] = len(m.Tickets), len(m.Tickets)
			m.Tickets = append(m.Tickets, match.Ticket{ID: p.ticket, Profiles: []string{"test"}, Created: now.Add(-p.waited), Latencies: p.ms})
		}
		sub := fmt.Sprintf("p%d", i)
		m.Tickets[at].Players = append(m.Tickets[at].Players, match.Player{Sub: sub, Attributes: p.has})
		m.Seats = append(m.Seats, verify.Seat{Ticket: p.ticket, Sub: sub, Team: p.team, Role: p.role})
	}
	return m
}

func unlimited(r profile.Rule) profile.Rule {
	r.ID = "rule"
	if r.Limits.Max == 0 {
		r.Limits.Max = profile.NoMax
	}
	if r.Limits.Spread == 0 {
		r.Limits.Spread = profile.NoSpread
	}
	return r
}

func twoTeams(rules ...profile.Rule) *profile.Profile {
	p := &profile.Profile{Name: "test", Teams: []profile.Team{
		{Name: "red", Min: 1, Max: 4, Step: 1, Roles: []profile.Role{{Name: "tank", Max: 2}}},
		{Name: "blue", Min: 1, Max: 4, Step: 1},
	}}
	for _, r := range rules {
		p.Rules = append(p.Rules, unlimited(r))
	}
	return p
}

type row struct {
	name    string
	rule    profile.Rule
	players []player
	holds   bool
}

func check(t *testing.T, rows []row) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			found := verify.Check(twoTeams(row.rule), seated(row.players...), now)
			if row.holds {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			for _, v := range found {
				require.Equal(t, "rule", v.Rule, v.Text)
				require.NotEmpty(t, v.Text)
			}
		})
	}
}

func red(has match.Attributes) player  { return player{team: "red", has: has} }
func blue(has match.Attributes) player { return player{team: "blue", has: has} }

func party(ticket string, p player) player {
	p.ticket = ticket
	return p
}

func waited(d time.Duration, p player) player {
	p.waited = d
	return p
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	within := func(r profile.Rule, d float64) profile.Rule {
		r.Limits.Within = d
		return r
	}
	near := profile.Rule{Kind: profile.Near, Attribute: "skill"}
	perTeam := profile.Rule{Kind: profile.Near, Attribute: "skill", PerTeam: true}
	fromMean := profile.Rule{Kind: profile.Near, Attribute: "skill", FromMean: true}
	folded := func(by profile.Fold) profile.Rule {
		return profile.Rule{Kind: profile.Near, Attribute: "skill", Party: by}
	}
	balance := func(by profile.Fold) profile.Rule {
		return profile.Rule{Kind: profile.Balance, Attribute: "skill", Teams: by}
	}
	sides := []player{red(skilled(1)), red(skilled(5)), blue(skilled(4))}
	duo := []player{party("a", red(skilled(1))), party("a", red(skilled(9))), blue(skilled(5))}
	check(t, []row{
		{"near, at the limit", within(near, 4), sides, true},
		{"near, above it", within(near, 3.5), sides, false},
		{"near per team, opponents far apart", within(perTeam, 4), []player{red(skilled(1)), red(skilled(5)), blue(skilled(90))}, true},
		{"near per team, team-mates far apart", within(perTeam, 3), sides, false},
		{"near the mean, at the limit", within(fromMean, 2), []player{red(skilled(2)), blue(skilled(6))}, true},
		{"near the mean, above it", within(fromMean, 1.9), []player{red(skilled(2)), blue(skilled(6))}, false},
		{"near, a party by its mean", within(folded(profile.FoldMean), 0), duo, true},
		{"near, a party by its least", within(folded(profile.FoldMin), 3), duo, false},
		{"near, a party by its greatest", within(folded(profile.FoldMax), 4), duo, true},
		{"near, each of a party", within(near, 7), duo, false},
		{"balance of means", within(balance(profile.FoldMean), 1), sides, true},
		{"balance of sums", within(balance(profile.FoldSum), 1), sides, false},
		{"balance of sums, at the limit", within(balance(profile.FoldSum), 2), sides, true},
		{"balance of the least", within(balance(profile.FoldMin), 2), sides, false},
		{"balance of the greatest", within(balance(profile.FoldMax), 1), sides, true},
		{"sizes differ by one", within(profile.Rule{Kind: profile.Sizes}, 1), sides, true},
		{"sizes are not equal", within(profile.Rule{Kind: profile.Sizes}, 0), sides, false},
		{"a pair against two who are alone", within(profile.Rule{Kind: profile.PartySizes}, 0), append(duo, blue(skilled(5))), false},
		{"a pair against a pair", within(profile.Rule{Kind: profile.PartySizes}, 0), append(duo, party("b", blue(skilled(5))), party("b", blue(skilled(5)))), true},
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	compare := func(take profile.Fold, in string, is profile.Operator, to float64) profile.Rule {
		r := profile.Rule{Kind: profile.Comparison, Compare: &profile.Compare{Measure: profile.Measure{Take: take, Attribute: "skill", Team: in}, Operator: is}}
		r.Limits.Number = to
		return r
	}
	against := func(take profile.Fold, is profile.Operator) profile.Rule {
		r := compare(take, "red", is, 0)
		r.Compare.Against = &profile.Measure{Take: profile.FoldMax, Attribute: "skill", Team: "blue"}
		return r
	}
	players := []player{red(skilled(1)), red(skilled(5)), blue(skilled(4))}
	check(t, []row{
		{"each at least", compare(profile.FoldEach, "", profile.GreaterOrEqual, 1), players, true},
		{"each above", compare(profile.FoldEach, "", profile.Greater, 1), players, false},
		{"the sum equals", compare(profile.FoldSum, "", profile.Equal, 10), players, true},
		{"the sum of a team does not", compare(profile.FoldSum, "red", profile.Equal, 10), players, false},
		{"the mean is less", compare(profile.FoldMean, "red", profile.Less, 3.5), players, true},
		{"the least is not another", compare(profile.FoldMin, "", profile.NotEqual, 1), players, false},
		{"the number of players", compare(profile.FoldCount, "red", profile.LessOrEqual, 2), players, true},
		{"one team against the other", against(profile.FoldMax, profile.Greater), players, true},
		{"each of one team against the other", against(profile.FoldEach, profile.Greater), players, false},
	})
}

func TestTexts(t *testing.T) {
	t.Parallel()
	clan := func(s string) match.Attributes { return match.Attributes{"clan": text(s)} }
	rule := func(kind profile.RuleKind, perTeam bool) profile.Rule {
		return profile.Rule{Kind: kind, Attribute: "clan", PerTeam: perTeam}
	}
	sides := []player{red(clan("a")), red(clan("a")), blue(clan("b"))}
	check(t, []row{
		{"same in the match", rule(profile.Same, false), sides, false},
		{"same in each team", rule(profile.Same, true), sides, true},
		{"different in the match", rule(profile.Different, false), []player{red(clan("a")), blue(clan("A"))}, true},
		{"different in each team", rule(profile.Different, true), sides, false},
		{"a number is no text", rule(profile.Same, false), []player{red(clan("1")), blue(match.Attributes{"clan": number(1)})}, false},
	})
}

func TestLists(t *testing.T) {
	t.Parallel()
	maps := func(names ...string) match.Attributes { return match.Attributes{"maps": list(names...)} }
	common := func(n int, by profile.Fold) profile.Rule {
		r := profile.Rule{Kind: profile.Common, Attribute: "maps", Party: by}
		r.Limits.AtLeast = n
		return r
	}
	count := func(least, most int, perTeam bool) profile.Rule {
		r := profile.Rule{Kind: profile.Count, Attribute: "maps", AnyOf: []string{"x", "y"}, PerTeam: perTeam}
		r.Limits.Min, r.Limits.Max = least, most
		return r
	}
	avoid := func(perTeam bool) profile.Rule {
		return profile.Rule{Kind: profile.Avoid, Attribute: "blocked", PerTeam: perTeam, Missing: profile.Missing{Pass: true}}
	}
	blocks := func(subs ...string) match.Attributes { return match.Attributes{"blocked": list(subs...)} }
	check(t, []row{
		{"one in common", common(1, profile.FoldEach), []player{red(maps("x", "y")), blue(maps("z", "y"))}, true},
		{"not two", common(2, profile.FoldEach), []player{red(maps("x", "y")), blue(maps("z", "y"))}, false},
		{"a party needs what both have", common(1, profile.Intersect), []player{party("a", red(maps("x"))), party("a", red(maps("y"))), blue(maps("y"))}, false},
		{"a party offers what one has", common(1, profile.Union), []player{party("a", red(maps("x"))), party("a", red(maps("y"))), blue(maps("y"))}, true},
		{"so many have one", count(2, 2, false), []player{red(maps("x", "y")), blue(maps("y")), blue(maps("z"))}, true},
		{"too few have", count(2, 2, false), []player{red(maps("z")), blue(maps("y"))}, false},
		{"too many of a team have", count(0, 1, true), []player{red(maps("x")), red(maps("x")), blue(maps("y"))}, false},
		{"enough of each team have", count(1, 1, true), []player{red(maps("x")), blue(maps("y"))}, true},
		{"nobody blocks", avoid(false), []player{red(blocks("p7")), blue(nil)}, true},
		{"one blocks the other", avoid(false), []player{red(nil), blue(blocks("p0"))}, false},
		{"opponents may", avoid(true), []player{red(nil), blue(blocks("p0"))}, true},
		{"team-mates may not", avoid(true), []player{red(blocks("p1")), red(nil), blue(nil)}, false},
		{"everybody lists itself", avoid(false), []player{red(blocks("p0")), blue(blocks("p1"))}, true},
	})
}

// Pins a choice for the game server that is not the one everybody else makes of the same lists.
func TestChosen(t *testing.T) {
	t.Parallel()
	common := profile.Rule{Kind: profile.Common, Attribute: "maps"}
	common.Limits.AtLeast = 1
	m := seated(red(match.Attributes{"maps": list("z", "y", "x")}), blue(match.Attributes{"maps": list("x", "y", "z")}))
	for chosen, holds := range map[string]bool{"x": true, "y": false, "z": false, "w": false} {
		m.Chosen = map[string]string{"maps": chosen} // all sums of positions are 2
		require.Equal(t, holds, len(verify.Check(twoTeams(common), m, now)) == 0, chosen)
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	latency := func(d, spread time.Duration, mean bool) profile.Rule {
		r := profile.Rule{Kind: profile.Latency, TakeMean: mean}
		r.Limits.Latency, r.Limits.Spread = d, spread
		return r
	}
	ms := func(team string, eu, us uint16) player {
		p := player{team: team, ms: map[string]uint16{"eu": eu, "us": us}}
		if us == 0 {
			delete(p.ms, "us")
		}
		return p
	}
	limit := 60 * time.Millisecond
	check(t, []row{
		{"a region for all", latency(limit, 0, false), []player{ms("red", 90, 60), ms("blue", 20, 60)}, true},
		{"each has one, not the same", latency(limit, 0, false), []player{ms("red", 90, 60), ms("blue", 20, 61)}, false},
		{"not measured", latency(limit, 0, false), []player{ms("red", 90, 10), ms("blue", 20, 0)}, false},
		{"the mean", latency(limit, 0, true), []player{ms("red", 100, 99), ms("blue", 20, 90)}, true},
		{"the spread", latency(limit, 39*time.Millisecond, false), []player{ms("red", 20, 99), ms("blue", 60, 90)}, false},
		{"the spread, at the limit", latency(limit, 40*time.Millisecond, false), []player{ms("red", 20, 99), ms("blue", 60, 90)}, true},
	})
}

func TestCompound(t *testing.T) {
	t.Parallel()
	near := func(d float64) profile.Rule {
		r := profile.Rule{Kind: profile.Near, Attribute: "skill"}
		r.Limits.Within = d
		return r
	}
	of := func(kind profile.RuleKind, rules ...profile.Rule) profile.Rule {
		return profile.Rule{Kind: kind, Rules: rules}
	}
	players := []player{red(skilled(1)), blue(skilled(3))}
	check(t, []row{
		{"or", of(profile.Or, near(1), near(2)), players, true},
		{"neither", of(profile.Or, near(1), near(0)), players, false},
		{"and", of(profile.And, near(2), near(3)), players, true},
		{"not both", of(profile.And, near(1), near(3)), players, false},
		{"not", of(profile.Not, near(1)), players, true},
		{"but it holds", of(profile.Not, near(2)), players, false},
		{"nested", of(profile.Or, of(profile.And, near(1), near(3)), of(profile.Not, near(1))), players, true},
	})
}

func TestMissing(t *testing.T) {
	t.Parallel()
	near := profile.Rule{Kind: profile.Near, Attribute: "skill"}
	pass, value, role := near, near, near
	pass.Missing.Pass = true
	one := number(1)
	value.Missing.Value = &one
	role.Role = "tank"
	not := profile.Rule{Kind: profile.Not, Rules: []profile.Rule{unlimited(near)}}
	tank := red(skilled(1))
	tank.role, tank.has = "tank", match.Attributes{"skill": number(1), "role": text("tank")}
	wrong := blue(match.Attributes{"skill": text("1")})
	rated := near
	rated.ByRole = []profile.RoleAttribute{{Role: "tank", Attribute: "skill_tank"}}
	onlyRated := red(nil)
	onlyRated.role, onlyRated.has = "tank", match.Attributes{"skill_tank": number(1), "role": text("tank")}
	check(t, []row{
		{"fails", near, []player{red(skilled(1)), blue(nil)}, false},
		{"fails inside of not", not, []player{red(skilled(1)), blue(nil)}, false},
		{"of the wrong type", near, []player{red(skilled(1)), wrong}, false},
		{"is left out", pass, []player{red(skilled(1)), blue(nil)}, true},
		{"has a value that fits", value, []player{red(skilled(1)), blue(nil)}, true},
		{"has a value that does not", value, []player{red(skilled(2)), blue(nil)}, false},
		{"fails with the rating of the role alone", rated, []player{onlyRated, blue(skilled(1))}, false},
		{"does not count in that role", role, []player{tank, blue(nil)}, true},
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	rule := func(age profile.Age) profile.Rule {
		r := profile.Rule{Kind: profile.Near, Attribute: "skill", Age: age}
		r.Widen = []profile.Step{{AfterWait: 10 * time.Second, Limits: profile.Limits{Within: 2}}, {AfterWait: 30 * time.Second, Limits: profile.Limits{Ended: true}}}
		return r
	}
	players := func(d float64, a, b time.Duration) []player {
		return []player{waited(a, red(skilled(0))), waited(b, blue(skilled(d)))}
	}
	s := time.Second
	check(t, []row{
		{"before the first", rule(profile.Oldest), players(2, 0, 10*s-1), false},
		{"the oldest, to the nanosecond", rule(profile.Oldest), players(2, 0, 10*s), true},
		{"the oldest, any", rule(profile.Oldest), players(99, 0, 30*s), true},
		{"the youngest is too young", rule(profile.Youngest), players(2, 0, 30*s), false},
		{"the youngest", rule(profile.Youngest), players(2, 10*s, 30*s), true},
		{"the mean", rule(profile.Mean), players(2, 5*s, 15*s), true},
		{"the mean is too young", rule(profile.Mean), players(2, 5*s, 14*s), false},
		{"each, the narrower", rule(profile.Each), players(3, 10*s, 30*s), false},
		{"each, both", rule(profile.Each), players(2, 10*s, 30*s), true},
		{"each, both any", rule(profile.Each), players(99, 30*s, 30*s), true},
	})
	// With each, two who waited are as near as their own steps allow, whoever else is in the match.
	r := rule(profile.Each)
	r.Limits.Within = 1
	three := append(players(2, 10*s, 10*s), blue(skilled(1)))
	check(t, []row{{"each, pairs", r, three, true}})
}
