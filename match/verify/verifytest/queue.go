package verifytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Queue is a profile with tickets that wait for it.
type Queue struct {
	Profile *profile.Profile
	Tickets []match.Ticket
}

// RandomQueue returns a valid profile with 1 to 4 teams of 1 to 5 players and up to 4 rules of all kinds, and 60 to 150
// tickets as the players of a game would have: unlike those of [Tickets], most of them fit with some of the others, and
// a match of them has to be searched. All times are before [Now].
func RandomQueue(random *rand.Rand) Queue {
	q := queueDrawer{random}
	p := &profile.Profile{Name: Name, TTL: 10 * time.Minute, Teams: q.drawTeams(), Age: q.drawAge()}
	if q.oneIn(6) {
		p.Modes = []string{"arena", "duel"}
	}
	if q.oneIn(6) {
		p.Fewer = q.drawFewer(p.Teams)
	}
	if q.oneIn(8) {
		// Later than every step of fewer, as Parse demands.
		p.BotsAfter = time.Minute
	}
	for i := range random.IntN(5) {
		r := q.drawRule(p, true)
		r.ID = fmt.Sprintf("rule-%d", i)
		p.Rules = append(p.Rules, r)
	}
	made := Queue{Profile: p}
	for i := range 60 + random.IntN(91) {
		made.Tickets = append(made.Tickets, q.drawTicket(p, i))
	}
	// All teams are like the first one.
	if p.Teams[0].Roles != nil && q.oneIn(3) {
		q.rateRoles(made)
	}
	if q.oneIn(4) {
		for i := range 1 + random.IntN(3) {
			p.Prefer = append(p.Prefer, q.drawPreference(p, fmt.Sprintf("prefer-%d", i)))
		}
	}
	return made
}

// drawPreference draws a preference, which excludes no ticket.
func (q queueDrawer) drawPreference(p *profile.Profile, id string) profile.Preference {
	r := q.drawRule(p, true)
	r.ID = id
	steadyRule(&r)
	softenRule(&r)
	return profile.Preference{Rule: r, Weight: float64(1 + q.random.IntN(3))}
}

// rateRoles gives players a rating per role, and the rules on numbers compare it.
func (q queueDrawer) rateRoles(made Queue) {
	var byRole []profile.RoleAttribute
	for _, r := range made.Profile.Teams[0].Roles {
		byRole = append(byRole, profile.RoleAttribute{Role: r.Name, Attribute: "skill_" + r.Name})
	}
	for i := range made.Profile.Rules {
		if r := &made.Profile.Rules[i]; r.Kind == profile.Near || r.Kind == profile.Balance {
			r.ByRole = byRole
		}
	}
	for _, t := range made.Tickets {
		for _, p := range t.Players {
			for _, by := range byRole {
				p.Attributes[by.Attribute] = match.Value{Kind: match.Number,
					Number: math.Round(p.Attributes["skill"].Number + 100*q.random.NormFloat64())}
			}
		}
	}
}

// Balanced reports whether a rule of the queue's profile compares the teams' values.
func (q Queue) Balanced() bool { return hasBalance(q.Profile.Rules) }

func hasBalance(rules []profile.Rule) bool {
	for _, r := range rules {
		if r.Kind == profile.Balance || hasBalance(r.Rules) {
			return true
		}
	}
	return false
}

// queueDrawer draws what a queue has. Its draws are uniform, where those of rapid prefer small and extreme values.
type queueDrawer struct{ random *rand.Rand }

// oneIn reports true once in n draws.
func (q queueDrawer) oneIn(n int) bool { return q.random.IntN(n) == 0 }

func oneOf[E any](q queueDrawer, from ...E) E { return from[q.random.IntN(len(from))] }

func (q queueDrawer) drawAge() profile.Age {
	return oneOf(q, profile.Oldest, profile.Oldest, profile.Oldest, profile.Youngest, profile.Mean, profile.Each)
}

// drawTeams draws teams that are alike but for their names.
func (q queueDrawer) drawTeams() (teams []profile.Team) {
	least := 1 + q.random.IntN(5)
	model := profile.Team{Min: least, Max: least, Step: 1, AllowSplit: q.oneIn(8)}
	if q.oneIn(2) {
		model.Max = least + q.random.IntN(6-least)
	}
	if model.Max == model.Min+2 && q.oneIn(3) {
		model.Step = 2
	}
	if q.oneIn(2) {
		model.Roles = q.drawRoles(model)
	}
	for i := range 1 + q.random.IntN(4) {
		model.Name = string(rune('r' + i))
		teams = append(teams, model)
	}
	// A match of one player would need no search.
	if teams[0].Max < 2 && len(teams) < 2 {
		teams[0].Max = 2
	}
	return teams
}

func (q queueDrawer) drawRoles(team profile.Team) (drawn []profile.Role) {
	places := team.Min
	for _, name := range []string{"healer", "tank"} {
		if r := (profile.Role{Name: name, Min: min(places, q.random.IntN(2)),
			Max: min(team.Max, 1+q.random.IntN(2))}); q.random.IntN(4) > 0 {
			drawn, places = append(drawn, r), places-r.Min
		}
	}
	return drawn
}

func (q queueDrawer) drawFewer(teams []profile.Team) []profile.Fewer {
	least := map[string]int{}
	for _, team := range teams {
		// At least one player, and as many as the roles take.
		needed := 1
		for _, r := range team.Roles {
			needed = max(needed, team.Roles[0].Min+team.Roles[len(team.Roles)-1].Min, r.Min)
		}
		least[team.Name] = team.Min
		if team.Step == 1 && team.Min > needed {
			least[team.Name]--
		}
	}
	return []profile.Fewer{{AfterWait: oneOf(q, 10*time.Second, 30*time.Second), Players: least}}
}

// drawRule draws a rule; one inside of another is none that has rules itself, and no rule below not has steps.
func (q queueDrawer) drawRule(p *profile.Profile, outermost bool) profile.Rule {
	r := profile.Rule{Age: p.Age, Limits: profile.Limits{Max: profile.NoMax, Spread: profile.NoSpread}}
	kinds := []profile.RuleKind{
		profile.Near, profile.Near, profile.Balance, profile.Sizes, profile.PartySizes, profile.Comparison,
		profile.Same, profile.Different,
		profile.Common, profile.Count, profile.Latency, profile.Avoid,
	}
	if outermost {
		kinds = append(kinds, profile.Or, profile.And, profile.Not)
	}
	r.Kind = oneOf(q, kinds...)
	// These kinds compare teams: Parse refuses them for one.
	for len(p.Teams) == 1 && (r.Kind == profile.Balance || r.Kind == profile.Sizes || r.Kind == profile.PartySizes) {
		r.Kind = oneOf(q, kinds...)
	}
	q.fillRule(p, &r)
	if r.Kind != profile.Not && q.oneIn(2) {
		q.widenRule(&r)
	}
	return r
}

func (q queueDrawer) fillRule(p *profile.Profile, r *profile.Rule) {
	r.Missing.Pass = r.Kind != profile.Latency && q.oneIn(2)
	switch r.Kind {
	case profile.Near:
		r.Attribute, r.Limits.Within = "skill", float64(50+q.random.IntN(300))
		r.PerTeam, r.FromMean = q.oneIn(5), q.oneIn(4)
		r.Party = oneOf(q, profile.FoldEach, profile.FoldMean, profile.FoldMax)
	case profile.Balance:
		r.Attribute, r.Limits.Within = "skill", float64(5+q.random.IntN(100))
		r.Teams = oneOf(q, profile.FoldMean, profile.FoldSum, profile.FoldMax, profile.FoldMin)
	case profile.Sizes, profile.PartySizes:
		r.Limits.Within = float64(q.random.IntN(2))
	case profile.Comparison:
		q.drawCompare(p, r)
	case profile.Same:
		r.Attribute = oneOf(q, "platform", "clan")
		r.PerTeam = r.Attribute == "clan"
	case profile.Different:
		r.Attribute, r.PerTeam = oneOf(q, "country", "class"), q.oneIn(2)
	case profile.Common:
		r.Attribute, r.Limits.AtLeast = "maps", 1+q.random.IntN(2)
		r.Party = oneOf(q, profile.FoldEach, profile.Intersect, profile.Union)
	case profile.Count:
		r.Attribute, r.AnyOf, r.PerTeam = "class", []string{oneOf(q, "a", "b", "c")}, q.oneIn(2)
		r.Limits.Min = q.random.IntN(2)
		r.Limits.Max = oneOf(q, 2, 3, profile.NoMax)
	case profile.Latency:
		r.Limits.Latency, r.TakeMean = time.Duration(40+q.random.IntN(60))*time.Millisecond, q.oneIn(3)
		if q.oneIn(3) {
			r.Limits.Spread = 40 * time.Millisecond
		}
	case profile.Avoid:
		r.Attribute, r.PerTeam, r.Missing.Pass = blocked, q.oneIn(2), true
	case profile.Or, profile.And:
		r.Rules = []profile.Rule{q.drawRule(p, false), q.drawRule(p, false)}
	case profile.Not:
		r.Rules = []profile.Rule{q.drawRule(p, false)}
		steadyRule(r)
	}
}

func (q queueDrawer) drawCompare(p *profile.Profile, r *profile.Rule) {
	r.Missing.Pass = true
	r.Compare = &profile.Compare{Measure: profile.Measure{Attribute: "skill",
		Take: oneOf(q, profile.FoldMean, profile.FoldMin, profile.FoldMax)}, Operator: profile.GreaterOrEqual}
	r.Limits.Number = float64(1000 + q.random.IntN(600))
	if q.oneIn(2) {
		r.Compare.Operator, r.Limits.Number = profile.LessOrEqual, r.Limits.Number+500
	}
	if q.oneIn(3) {
		r.Compare.Measure.Team = oneOf(q, p.Teams...).Name
	}
}

// widenRule adds a step that allows more.
func (q queueDrawer) widenRule(r *profile.Rule) {
	limits := r.Limits
	switch r.Kind {
	case profile.Near, profile.Balance:
		limits.Within *= 2
	case profile.Latency:
		limits.Latency += 30 * time.Millisecond
	case profile.Count:
		limits.Min = 0
	case profile.Common:
		limits.AtLeast = 1
	default:
		limits.Ended = true
	}
	r.Widen = []profile.Step{{AfterWait: oneOf(q, 10*time.Second, 30*time.Second), Limits: limits}}
}

func (q queueDrawer) drawTicket(p *profile.Profile, i int) match.Ticket {
	t := match.Ticket{
		ID: fmt.Sprintf("t%03d", i), Profiles: []string{Name}, Latencies: map[string]uint16{},
		Created: Now.Add(-time.Duration(q.random.Int64N(int64(time.Minute)))),
	}
	for _, region := range regions {
		if !q.oneIn(4) {
			t.Latencies[region] = uint16(15 + q.random.IntN(120))
		}
	}
	largest := p.Teams[0].Max
	size := min(largest, oneOf(q, 1, 1, 1, 1, 2, 2, 3, 4))
	skill := 1500 + 300*q.random.NormFloat64()
	for n := range size {
		// Friends differ less from each other than strangers do.
		attributes := q.drawAttributes(skill + 60*q.random.NormFloat64())
		t.Players = append(t.Players, match.Player{Sub: fmt.Sprintf("p%03d-%d", i, n), Attributes: attributes})
	}
	return t
}

func (q queueDrawer) drawAttributes(skill float64) match.Attributes {
	text := func(s string) match.Value { return match.Value{Kind: match.Text, Text: s} }
	texts := func(from ...string) match.Value {
		q.random.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		return match.Value{Kind: match.List, List: from[:1+q.random.IntN(len(from))]}
	}
	has := match.Attributes{
		"platform": text(oneOf(q, "pc", "pc", "console")), "clan": text(oneOf(q, "red", "blue")),
		"class":   text(oneOf(q, "a", "b", "c", "d")),
		"country": text(fmt.Sprintf("c%02d", q.random.IntN(30))), "maps": texts("a", "b", "c", "d"),
	}
	if !q.oneIn(20) {
		has["skill"] = match.Value{Kind: match.Number, Number: math.Round(skill)}
	}
	switch n := q.random.IntN(100); {
	case n < 12:
		has["role"] = text("tank")
	case n < 25:
		has["role"] = text("healer")
	case n < 30:
		has["role"] = texts("tank", "healer")
	}
	if q.oneIn(10) {
		has["modes"] = texts("arena", "duel")
	}
	if q.oneIn(4) {
		has[blocked] = texts(fmt.Sprintf("p%03d-0", q.random.IntN(100)), fmt.Sprintf("p%03d-0", q.random.IntN(100)))
	}
	return has
}
