package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

func TestRules(t *testing.T) {
	t.Parallel()
	within := func(d float64) profile.Limits { return profile.Limits{Within: d} }
	duel := func(r ...profile.Rule) *profile.Profile { return with(game(1, 1), r...) }
	pairs := func(r ...profile.Rule) *profile.Profile { return with(game(2, 2), r...) }
	mean := func(d float64) profile.Rule {
		r := nearSkill(d)
		r.FromMean = true
		return r
	}
	balance := func(f profile.Fold, d float64) profile.Rule {
		return profile.Rule{Kind: profile.Balance, Attribute: "skill", Teams: f, Limits: within(d)}
	}
	four := func(a, b, c, d float64) []*match.Ticket {
		return []*match.Ticket{ticket("a", skill(a)), ticket("b", skill(b)), ticket("c", skill(c)), ticket("d", skill(d))}
	}
	two := func(a, b option) []*match.Ticket { return []*match.Ticket{ticket("a", a), ticket("b", b)} }
	counted := profile.Rule{Kind: profile.Count, Attribute: "class", AnyOf: []string{"x", "y"}, Limits: profile.Limits{Min: 1, Max: 1}}
	or := func(rules ...profile.Rule) profile.Rule { return profile.Rule{Kind: profile.Or, Rules: rules} }
	standing := func(r profile.Rule, x float64) profile.Rule {
		r.Missing.Value = &match.Value{Kind: match.Number, Number: x}
		return r
	}
	byMean := nearSkill(1)
	byMean.Party = profile.FoldMean
	for _, c := range []struct {
		name    string
		profile *profile.Profile
		tickets []*match.Ticket
		found   int
	}{
		{"near, at the limit", duel(nearSkill(10)), two(skill(1), skill(11)), 1},
		{"near, beyond", duel(nearSkill(10)), two(skill(1), skill(11.001)), 0},
		{"near, each from the mean", duel(mean(5)), two(skill(1), skill(11)), 1},
		{"near, too far from the mean", duel(mean(4.9)), two(skill(1), skill(11)), 0},
		{"near per team", pairs(perTeam(nearSkill(1))), four(1, 1, 9, 9), 1},
		{"near per team, nobody near", pairs(perTeam(nearSkill(1))), four(1, 3, 6, 9), 0},
		{"balance, by exchange", pairs(balance(profile.FoldSum, 0)), four(1, 2, 3, 4), 1},
		{"balance of means", pairs(balance(profile.FoldMean, 0.5)), four(1, 1, 2, 3), 1},
		{"balance, impossible", pairs(balance(profile.FoldMean, 0.4)), four(1, 1, 2, 3), 0},
		{"balance of the greatest", pairs(balance(profile.FoldMax, 1)), four(1, 1, 8, 9), 1},
		{"balance of the least", pairs(balance(profile.FoldMin, 0)), four(1, 1, 8, 9), 1},
		{"compare the mean", duel(compareRule(profile.Measure{Take: profile.FoldMean, Attribute: "skill"}, profile.GreaterOrEqual, 5)), two(skill(1), skill(9)), 1},
		{"compare each", duel(compareRule(profile.Measure{Attribute: "skill"}, profile.Greater, 1)), two(skill(1), skill(9)), 0},
		{"compare in a team", duel(compareRule(profile.Measure{Take: profile.FoldSum, Attribute: "skill", Team: "team-2"}, profile.Equal, 9)), two(skill(1), skill(9)), 1},
		{"same", duel(on(profile.Same, "mode", profile.Limits{})), two(textOf("mode", "x"), textOf("mode", "x")), 1},
		{"not the same", duel(on(profile.Same, "mode", profile.Limits{})), two(textOf("mode", "x"), textOf("mode", "y")), 0},
		{"same number", duel(on(profile.Same, "mode", profile.Limits{})), two(number("mode", 1), number("mode", 1)), 1},
		{"same per team", pairs(perTeam(on(profile.Same, "skill", profile.Limits{}))), four(1, 2, 1, 2), 1},
		{"different", duel(on(profile.Different, "mode", profile.Limits{})), two(textOf("mode", "x"), textOf("mode", "y")), 1},
		{"not different", duel(on(profile.Different, "mode", profile.Limits{})), two(textOf("mode", "x"), textOf("mode", "x")), 0},
		{"different per team", pairs(perTeam(on(profile.Different, "skill", profile.Limits{}))), four(1, 1, 2, 2), 1},
		{"common", duel(on(profile.Common, "maps", profile.Limits{AtLeast: 1})), two(list("maps", "x", "y"), list("maps", "y")), 1},
		{"common, too few", duel(on(profile.Common, "maps", profile.Limits{AtLeast: 2})), two(list("maps", "x", "y"), list("maps", "y")), 0},
		{"count", duel(counted), two(textOf("class", "x"), textOf("class", "z")), 1},
		{"count, too many", duel(counted), two(textOf("class", "x"), textOf("class", "y")), 0},
		{"count, too few", duel(counted), two(textOf("class", "w"), textOf("class", "z")), 0},
		{"avoid", duel(on(profile.Avoid, "blocked", profile.Limits{})), two(list("blocked", "b"), list("blocked")), 0},
		{"avoid, somebody else", duel(on(profile.Avoid, "blocked", profile.Limits{})), two(list("blocked", "c"), skill(0)), 1},
		{"avoid per team: as opponents", duel(perTeam(on(profile.Avoid, "blocked", profile.Limits{}))), two(list("blocked", "b"), list("blocked")), 1},
		{"avoid per team: of players who are placed last", pairs(perTeam(on(profile.Avoid, "blocked", profile.Limits{}))), []*match.Ticket{
			ticket("a"), ticket("b"), ticket("c", list("blocked", "d")), ticket("d")}, 1},
		{"or", duel(or(nearSkill(1), compareRule(profile.Measure{Take: profile.FoldMin, Attribute: "skill"}, profile.Greater, 5))), two(skill(6), skill(9)), 1},
		{"neither", duel(or(nearSkill(1), compareRule(profile.Measure{Take: profile.FoldMin, Attribute: "skill"}, profile.Greater, 5))), two(skill(4), skill(9)), 0},
		{"not", duel(profile.Rule{Kind: profile.Not, Rules: []profile.Rule{nearSkill(1)}}), two(skill(4), skill(9)), 1},
		{"missing", duel(nearSkill(10)), two(skill(4), textOf("x", "")), 0},
		{"missing: pass", duel(passing(nearSkill(10))), two(skill(4), textOf("x", "")), 1},
		{"missing: a value", duel(standing(nearSkill(10), 5)), two(skill(4), textOf("x", "")), 1},
		{"missing: a value too far", duel(standing(nearSkill(10), 50)), two(skill(4), textOf("x", "")), 0},
		{"a party's mean", with(game(2, 2), byMean), []*match.Ticket{
			ticket("a", party(2), members("skill", 0, 10)), ticket("b", party(2), members("skill", 4, 6))}, 1},
		{"a party, each", with(game(2, 2), nearSkill(1)), []*match.Ticket{
			ticket("a", party(2), members("skill", 0, 10)), ticket("b", party(2), members("skill", 4, 6))}, 0},
		{"sizes", with(&profile.Profile{Name: "p", Teams: []profile.Team{{Name: "x", Min: 1, Max: 3}, {Name: "y", Min: 1, Max: 3}}},
			on(profile.Sizes, "", within(0))), []*match.Ticket{ticket("a", party(2)), ticket("b")}, 0},
		{"party sizes", with(game(2, 2), on(profile.PartySizes, "", within(0))), []*match.Ticket{ticket("a", party(2)), ticket("b"), ticket("c")}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, decide(c.profile, c.tickets...), c.found)
		})
	}
}

func on(kind profile.RuleKind, attribute string, l profile.Limits) profile.Rule {
	return profile.Rule{Kind: kind, Attribute: attribute, Limits: l}
}

func perTeam(r profile.Rule) profile.Rule {
	r.PerTeam = true
	return r
}

func compareRule(m profile.Measure, is profile.Operator, to float64) profile.Rule {
	return profile.Rule{Kind: profile.Comparison, Compare: &profile.Compare{Measure: m, Operator: is}, Limits: profile.Limits{Number: to}}
}

func passing(r profile.Rule) profile.Rule {
	r.Missing.Pass = true
	return r
}

func members(name string, values ...float64) option {
	return func(t *match.Ticket) {
		for i, x := range values {
			t.Players[i].Attributes = match.Attributes{name: {Kind: match.Number, Number: x}}
		}
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1), profile.Rule{ID: "latency", Kind: profile.Latency, Limits: profile.Limits{Latency: 60 * time.Millisecond, Spread: profile.NoSpread}})
	run := func(regions []Region, tickets ...*match.Ticket) []Proposal {
		return Decide(Input{Version: Version{p, 1}, Tickets: tickets, Regions: regions, Now: now}).Proposals
	}
	both := []Region{{"eu", true}, {"us", true}}
	found := run(both, ticket("a", ping("eu", 60), ping("us", 20)), ticket("b", ping("eu", 10), ping("us", 50)))
	require.Len(t, found, 1)
	require.Equal(t, []RegionChoice{
		{Name: "us", Room: true, Measured: true, Worst: 50, Mean: 35},
		{Name: "eu", Room: true, Measured: true, Worst: 60, Mean: 35},
	}, found[0].Regions)
	require.Empty(t, run(both, ticket("a", ping("eu", 61)), ticket("b", ping("eu", 10))))
	require.Empty(t, run(both, ticket("a", ping("eu", 1)), ticket("b", ping("us", 1))), "no region that both measured")
	require.Empty(t, run(nil, ticket("a", ping("eu", 1)), ticket("b", ping("eu", 1))), "no region may host")

	// A player who can play where there is room is not matched to wait where there is none.
	found = run([]Region{{"eu", false}, {"us", true}}, ticket("a", waited(time.Second), ping("eu", 1), ping("us", 1)),
		ticket("b", waited(time.Second/2), ping("eu", 1)), ticket("c", ping("eu", 1), ping("us", 1)))
	require.Len(t, found, 1)
	require.Equal(t, []string{"a", "c"}, found[0].Tickets)
	// But without a host anywhere they are matched, to wait for one together.
	require.Len(t, run([]Region{{"eu", false}}, ticket("a", ping("eu", 1)), ticket("b", ping("eu", 1))), 1)
}

// A rule on latency that ends with time needs no latency from then on; one that does not end makes a ticket without any
// no candidate.
func TestLatencyThatEnds(t *testing.T) {
	t.Parallel()
	rule := profile.Rule{ID: "latency", Kind: profile.Latency, Limits: profile.Limits{Latency: 60 * time.Millisecond, Spread: profile.NoSpread}}
	rule.Widen = []profile.Step{step(5*time.Second, profile.Limits{Latency: 90 * time.Millisecond, Spread: profile.NoSpread}), step(10*time.Second, profile.Limits{Ended: true})}
	p := with(game(1, 1), rule)
	decided := func(a, b *match.Ticket) int {
		return len(Decide(Input{Version: Version{p, 1}, Tickets: []*match.Ticket{a, b}, Regions: []Region{{Name: "eu", Room: true}}, Now: now, Seed: 7}).Proposals)
	}
	require.Zero(t, decided(ticket("a", waited(9*time.Second)), ticket("b", ping("eu", 10))))
	require.Equal(t, 1, decided(ticket("a", waited(10*time.Second)), ticket("b", ping("eu", 10))))
	require.Equal(t, 1, decided(ticket("a"), ticket("b", ping("eu", 300), waited(10*time.Second))))
	p.Rules[0].Widen = rule.Widen[:1]
	require.Zero(t, decided(ticket("a", waited(time.Hour)), ticket("b", ping("eu", 10))))
	_, lacks := Inquire(Version{p, 1}, ticket("a"), nil, now)
	require.Equal(t, []Lack{{Why: LacksLatency, Rule: "latency"}}, lacks)
}
