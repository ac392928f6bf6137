package decide

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

func tankAndHealer(p *profile.Profile) *profile.Profile {
	for i := range p.Teams {
		p.Teams[i].Roles = []profile.Role{{Name: "healer", Min: 1, Max: 1}, {Name: "tank", Min: 1, Max: 1}}
	}
	return p
}

// A player who takes two roles leaves the one that nobody else takes to itself.
func TestRolesByMatching(t *testing.T) {
	t.Parallel()
	found := decide(tankAndHealer(game(3, 3)), ticket("a", list("role", "tank", "healer")), ticket("b", list("role", "tank")),
		ticket("c", list("role", "healer", "tank")), ticket("d", textOf("role", "tank")), ticket("e"), ticket("f"))
	require.Len(t, found, 1)
	for _, team := range found[0].Teams {
		roles := map[string]int{}
		for _, s := range team.Seats {
			roles[s.Role]++
		}
		require.Equal(t, map[string]int{"": 1, "tank": 1, "healer": 1}, roles)
	}
	require.Empty(t, decide(tankAndHealer(game(2)), ticket("a", list("role", "tank")), ticket("b", list("role", "tank"))))
}

// Sixty nearer players without the role do not hide the one who has it.
func TestRareRoleIsFound(t *testing.T) {
	t.Parallel()
	tickets := []*match.Ticket{ticket("seed", list("role", "tank"), skill(0), waited(time.Minute))}
	for i := range 200 {
		tickets = append(tickets, ticket(fmt.Sprintf("dealer-%03d", i), skill(float64(i)), list("role", "tank")))
	}
	tickets = append(tickets, ticket("rare", skill(500), list("role", "healer")))
	found := decide(with(tankAndHealer(game(2)), nearSkill(1000)), tickets...)
	require.Len(t, found, 1)
	require.Equal(t, []string{"seed", "rare"}, found[0].Tickets)
	require.Len(t, found[0].PassedOver, maxPassedOver)
}

// Four hundred nearer players of two classes do not hide those of two further classes, on both sides of them, whether
// classes are texts or numbers.
func TestRareValuesAreFound(t *testing.T) {
	t.Parallel()
	for name, class := range map[string]func(n int) option{
		"texts":           func(n int) option { return textOf("class", fmt.Sprint("class ", n)) },
		"whole numbers":   func(n int) option { return number("class", float64(n)) },
		"other numbers":   func(n int) option { return number("class", float64(n)+0.1) },
		"great numbers":   func(n int) option { return number("class", float64(n)*1e6) },
		"falling numbers": func(n int) option { return number("class", -float64(n)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tickets []*match.Ticket
			for i := range 400 {
				tickets = append(tickets, ticket(fmt.Sprintf("common-%03d", i), class(1+i%2), skill(float64(i))))
			}
			tickets = append(tickets, ticket("rare-3", class(3), skill(-1000)), ticket("rare-4", class(4), skill(1400)))
			found := decide(with(game(4), nearSkill(3000), on(profile.Different, "class", profile.Limits{})), tickets...)
			require.Len(t, found, 1)
			require.Subset(t, found[0].Tickets, []string{"rare-3", "rare-4"})
		})
	}
}

// Four hundred nearer players of whom a match may have two do not hide the two others, on both sides of them.
func TestThoseBesideACountedCrowdAreFound(t *testing.T) {
	t.Parallel()
	counted := func(name string) profile.Rule {
		r := on(profile.Count, name, profile.Limits{Max: 2})
		r.AnyOf = []string{"x"}
		return r
	}
	for name, rule := range map[string]profile.Rule{
		"in the match": counted("class"),
		"in each team": perTeam(counted("class")),
		"in an and":    {Kind: profile.And, Rules: []profile.Rule{counted("class")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tickets []*match.Ticket
			for i := range 400 {
				tickets = append(tickets, ticket(fmt.Sprintf("common-%03d", i), textOf("class", "x"), skill(float64(i))))
			}
			tickets = append(tickets, ticket("rare-1", textOf("class", "y"), skill(-1000)), ticket("rare-2", textOf("class", "y"), skill(1400)))
			found := decide(with(game(4), nearSkill(3000), rule), tickets...)
			require.Len(t, found, 1)
			require.Subset(t, found[0].Tickets, []string{"rare-1", "rare-2"})
		})
	}
}

func TestPartiesStayTogether(t *testing.T) {
	t.Parallel()
	found := decide(game(3, 3), ticket("a", party(2)), ticket("b", party(2)), ticket("c", party(2), waited(-time.Second)), ticket("d"), ticket("e"))
	require.Len(t, found, 1)
	require.NotContains(t, found[0].Tickets, "c", "three pairs do not fit into two teams of three")
	for _, team := range found[0].Teams {
		require.Len(t, team.Seats, 3)
	}
	split := game(3, 3)
	for i := range split.Teams {
		split.Teams[i].AllowSplit = true
	}
	require.Len(t, decide(split, ticket("a", party(2)), ticket("b", party(2)), ticket("c", party(2))), 1)
	e := New(Version{game(3, 3), 1}, 1)
	ok, why := e.Candidate(ticket("a", party(4)))
	require.False(t, ok)
	require.Equal(t, []Lack{{Why: LacksRoom}}, why)
}

func TestStepsOfSizes(t *testing.T) {
	t.Parallel()
	p := &profile.Profile{Name: "p", Teams: []profile.Team{{Name: "all", Min: 2, Max: 8, Step: 2}}}
	var tickets []*match.Ticket
	for i := range 7 {
		tickets = append(tickets, ticket(fmt.Sprintf("t%d", i), waited(-time.Duration(i))))
	}
	found := decide(p, tickets...)
	require.Len(t, found, 1)
	require.Len(t, found[0].Tickets, 6)
}

func TestFewerPlayersAfterAWhile(t *testing.T) {
	t.Parallel()
	p := game(3, 3)
	p.Fewer = []profile.Fewer{{AfterWait: 45 * time.Second, Players: map[string]int{"team-1": 2, "team-2": 2}}}
	e := New(Version{p, 1}, 1)
	for i := range 5 {
		e.Add(ticket(fmt.Sprintf("t%d", i)))
	}
	found, _ := e.Run(now.Add(45*time.Second-1), 1000)
	require.Empty(t, found)
	found, _ = e.Run(now.Add(45*time.Second), 1000)
	require.Len(t, found, 1)
	require.Len(t, found[0].Tickets, 5, "as many as there are")
}

// Bots are nobody for the rules: the players are as many as there are, and a team may have none.
func TestBotsFillTeamsAfterAWhile(t *testing.T) {
	t.Parallel()
	p := with(game(3, 3), profile.Rule{ID: "balance", Kind: profile.Balance, Attribute: "skill", Teams: profile.FoldMean, Limits: profile.Limits{Within: 10}})
	p.Teams[0].Roles = []profile.Role{{Name: "tank", Min: 1, Max: 1}}
	p.BotsAfter = 45 * time.Second
	at := func(wait time.Duration, tickets ...*match.Ticket) []Proposal {
		e := New(Version{p, 1}, 1)
		for _, one := range tickets {
			e.Add(one)
		}
		found, _ := e.Run(now.Add(wait), 1000)
		return found
	}
	tank, other := ticket("a", skill(5), textOf("role", "tank")), ticket("b", skill(900))
	require.Empty(t, at(45*time.Second-1, tank))
	alone := at(45*time.Second, tank)
	require.Len(t, alone, 1)
	require.Equal(t, map[string]int{"team-1": 3, "team-2": 3}, p.FillTo(map[string]int{"team-1": 1}))
	require.Empty(t, at(time.Hour, other), "no bot is the tank")
	together := at(time.Hour, tank, other)
	require.Len(t, together, 1)
	require.Equal(t, []int{2, 0}, []int{len(together[0].Teams[0].Seats), len(together[0].Teams[1].Seats)}, "against each other the teams would be unequal")
	tickets := []*match.Ticket{tank}
	for i := range 4 {
		tickets = append(tickets, ticket(fmt.Sprintf("t%d", i), skill(5)))
	}
	found := at(time.Minute, tickets...)
	require.Len(t, found, 1)
	require.Len(t, found[0].Tickets, 5, "as many as there are")
}

func TestWhichMatchesBotsFill(t *testing.T) {
	t.Parallel()
	p := game(4, 4)
	require.Nil(t, p.FillTo(map[string]int{"team-1": 1}), "none, unless the profile says so")
	p.BotsAfter = time.Minute
	p.Fewer = []profile.Fewer{{AfterWait: time.Second, Players: map[string]int{"team-1": 3, "team-2": 3}}, {AfterWait: 2 * time.Second, Players: map[string]int{"team-1": 2, "team-2": 2}}}
	require.Nil(t, p.FillTo(map[string]int{"team-1": 2, "team-2": 4}), "fewer allows it")
	require.Equal(t, map[string]int{"team-1": 4, "team-2": 4}, p.FillTo(map[string]int{"team-1": 1, "team-2": 4}))
	require.Equal(t, []profile.Fewer{p.Fewer[0], p.Fewer[1], {AfterWait: time.Minute, Players: map[string]int{"team-1": 0, "team-2": 0}}}, p.LeastSteps())
	p.Teams[0].Min, p.Teams[0].Step, p.Teams[0].Roles = 7, 3, []profile.Role{{Name: "tank", Min: 2, Max: 3}}
	require.Equal(t, 4, p.LeastSteps()[2].Players["team-1"], "a size of its steps with two tanks")
}

func TestAgeDecidesSteps(t *testing.T) {
	t.Parallel()
	for age, want := range map[profile.Age]int{profile.Oldest: 1, profile.Youngest: 0, profile.Mean: 1, profile.Each: 0} {
		r := nearSkill(10, step(10*time.Second, profile.Limits{Within: 100}))
		r.Age = age
		p := with(game(1, 1), r)
		require.Len(t, decide(p, ticket("a", skill(0), waited(20*time.Second)), ticket("b", skill(50))), want, "age %d", age)
		require.Len(t, decide(p, ticket("a", skill(0), waited(20*time.Second)), ticket("b", skill(50), waited(10*time.Second))), 1)
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1), nearSkill(100))
	p.Order = []profile.Order{{Value: "exp", Descending: true}}
	found := decide(p, ticket("a", skill(0), number("exp", 0), waited(time.Second)), ticket("b", skill(1), number("exp", 5)), ticket("c", skill(90), number("exp", 9)),
		ticket("d", skill(0)))
	require.Equal(t, []string{"a", "c"}, found[0].Tickets)
	p.Order = []profile.Order{{Distance: "exp"}}
	found = decide(p, ticket("a", skill(0), number("exp", 6), waited(time.Second)), ticket("b", skill(1), number("exp", 2)), ticket("c", skill(90), number("exp", 9)))
	require.Equal(t, []string{"a", "c"}, found[0].Tickets)
}

// With a batch, neighbours meet first; a ticket that is older than it goes before all.
func TestBatch(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1), nearSkill(100))
	p.Batch = profile.Batch{Attribute: "skill", For: 30 * time.Second}
	tickets := []*match.Ticket{ticket("a", skill(50), waited(5*time.Second)), ticket("b", skill(-40)), ticket("c", skill(0)), ticket("d", skill(60))}
	found := decide(p, tickets...)
	require.Len(t, found, 2)
	require.Equal(t, []string{"b", "c"}, found[0].Tickets)
	tickets[0].Created = now.Add(-time.Minute)
	require.Equal(t, "a", decide(p, tickets...)[0].Anchor)
}

func TestModes(t *testing.T) {
	t.Parallel()
	p := game(1, 1)
	p.Modes = []string{"arena", "siege", "duel"}
	found := decide(p, ticket("a", list("modes", "duel", "siege")), ticket("b"))
	require.Equal(t, []string{"siege", "duel"}, found[0].Modes)
	require.Empty(t, decide(p, ticket("a", list("modes", "duel")), ticket("b", list("modes", "siege"))))
	_, why := New(Version{p, 1}, 1).Candidate(ticket("a", list("modes", "chess")))
	require.Equal(t, []Lack{{Why: LacksMode}}, why)
}

// The seed deals the sides: over many matches each side is the anchor's about half of the time.
func TestSidesAreDrawn(t *testing.T) {
	t.Parallel()
	first := 0
	for i := range 400 {
		p := Decide(Input{Version: Version{game(1, 1), 1}, Tickets: []*match.Ticket{ticket("a", waited(time.Second)), ticket("b")}, Now: now, Seed: uint64(i)}).Proposals[0]
		if p.Teams[0].Seats[0].Ticket == "a" {
			first++
		}
	}
	require.InDelta(t, 200, first, 60)
}

func TestChosenValueOfCommon(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1), on(profile.Common, "maps", profile.Limits{AtLeast: 1}))
	found := decide(p, ticket("a", list("maps", "x", "y", "z")), ticket("b", list("maps", "z", "y", "x")))
	require.Equal(t, map[string]string{"maps": "x"}, found[0].Chosen, "all have the same sum of positions")
	found = decide(p, ticket("a", list("maps", "x", "y", "z")), ticket("b", list("maps", "w", "z", "y")))
	require.Equal(t, map[string]string{"maps": "y"}, found[0].Chosen, "3 for y, as for z")
}

func TestLargeMatch(t *testing.T) {
	t.Parallel()
	p := with(game(50, 50), nearSkill(2000), profile.Rule{Kind: profile.Balance, Attribute: "skill", Teams: profile.FoldMean, Limits: profile.Limits{Within: 10}})
	found := decide(p, crowd(120, 3)...)
	require.Len(t, found, 1)
	require.Len(t, found[0].Tickets, 100)
	for _, team := range found[0].Teams {
		require.Len(t, team.Seats, 50)
	}
}

// Under the age of each, a rule that has ended for two tickets does not hold between them, whoever else is in the
// match.
func TestPairsThatARuleHasEndedFor(t *testing.T) {
	t.Parallel()
	end := step(10*time.Second, profile.Limits{Ended: true})
	for name, c := range map[string]struct {
		rule            profile.Rule
		a, b, odd, even option // a and b offend the rule, odd offends it with one of them, and even with none
	}{
		"different": {on(profile.Different, "class", profile.Limits{}), textOf("class", "x"), textOf("class", "x"), textOf("class", "x"), textOf("class", "y")},
		"avoid":     {on(profile.Avoid, "blocked", profile.Limits{}), list("blocked", "a", "b"), list("blocked", "a", "b"), list("blocked", "a", "b"), list("blocked")},
		"same":      {passing(on(profile.Same, "class", profile.Limits{})), textOf("class", "x"), textOf("class", "y"), textOf("class", "x"), textOf("skill", "no class")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.rule.Age, c.rule.Widen = profile.Each, []profile.Step{end}
			p := with(game(3), c.rule)
			old := []*match.Ticket{ticket("a", c.a, waited(10*time.Second)), ticket("b", c.b, waited(20*time.Second))}
			require.Len(t, decide(p, append(old, ticket("c", c.even))...), 1, "the young one offends nobody")
			require.Empty(t, decide(p, append(old, ticket("c", c.odd))...), "the young one offends them")
			require.Len(t, decide(p, append(old, ticket("c", c.odd, waited(11*time.Second)))...), 1, "it has ended for all")
		})
	}
}

// Pins a ticket for which the rule had ended, that was compared with the mean under the limit of a younger one.
func TestNearTheMeanOfEach(t *testing.T) {
	t.Parallel()
	r := nearSkill(0, step(5*time.Second, profile.Limits{Ended: true}))
	r.FromMean, r.Age = true, profile.Each
	p := with(game(3), r)
	old := ticket("a", party(2), waited(5*time.Second))
	old.Players[0].Attributes = match.Attributes{"skill": {Kind: match.Number, Number: 0}}
	old.Players[1].Attributes = match.Attributes{"skill": {Kind: match.Number, Number: 2}}
	require.Len(t, decide(p, old, ticket("b", skill(1))), 1)
}

// Of the 560 ways to split eight players into teams of two, three and three, ten hold: the second team has the players
// of skills 2, 2 and 5, and another the one of skill 3. A search gives up a distribution before it has tried all of
// them, so that most first searches find no match; those that repeat it do.
func TestRareSplitIsFoundByRepeats(t *testing.T) {
	t.Parallel()
	player := func(skill float64, roles ...string) match.Attributes {
		all := match.Attributes{"role": {Kind: match.List, List: roles}}
		if skill > 0 {
			all["skill"] = match.Value{Kind: match.Number, Number: skill}
		}
		return all
	}
	players := func(id string, all ...match.Attributes) *match.Ticket {
		added := ticket(id, party(len(all)))
		for i := range all {
			added.Players[i].Attributes = all[i]
		}
		return added
	}
	p := with(game(2, 3, 3), profile.Rule{Kind: profile.Balance, Attribute: "skill", Teams: profile.FoldMean,
		Missing: profile.Missing{Pass: true}})
	p.Teams[1].Min = 2
	p.Teams[2].Roles = []profile.Role{{Name: "healer", Min: 1, Max: 1}, {Name: "tank", Min: 1, Max: 1}}
	for i := range p.Teams {
		p.Teams[i].AllowSplit = true
	}
	repeated := 0
	for seed := range uint64(100) {
		e := New(Version{p, 1}, seed)
		e.Add(players("a", player(0, "tank")))
		e.Add(players("b", player(3), player(2, "healer"), player(2)))
		e.Add(players("c", player(0, "tank", "healer")))
		e.Add(players("d", player(2)))
		e.Add(players("e", player(5, "healer"), player(0, "healer"), player(0, "tank", "healer")))
		found, _ := e.Run(now, math.MaxInt)
		if len(found) == 0 {
			repeated++
			found = runRepeats(e)
		}
		require.Len(t, found, 1, "seed %d", seed)
		require.ElementsMatch(t, []string{"a", "b", "c", "e"}, found[0].Tickets)
	}
	require.NotZero(t, repeated, "no first search ran out of steps")
}
