package decide

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
)

// inquired is an inquiry about the first ticket of an input, beside the means to judge it by brute force.
type inquired struct {
	in      Input
	p       *profile.Profile
	tickets []match.Ticket
	regions []string
	Findings
}

// drawInquiry draws an input and asks about its first ticket; it skips what is no candidate.
func drawInquiry(t *rapid.T, most int) *inquired {
	q := &inquired{in: drawInput(t, most)}
	q.p, q.regions = q.in.Version.Profile, regionNames(&q.in)
	q.p.Trade = nil // it says when a match is made, not whether the rules allow it
	if len(q.in.Tickets) == 0 || len(q.regions) == 0 || newPlan(q.p).mayLeaveRoles || narrowedByOthers(q.p.Rules) {
		t.Skip("nothing to ask, or decided more narrowly than the checker would")
	}
	for _, ticket := range q.in.Tickets {
		q.tickets = append(q.tickets, *ticket)
	}
	inquiry, lacks := Inquire(q.in.Version, q.in.Tickets[0], q.in.Regions, q.in.Now)
	if len(lacks) > 0 {
		require.False(t, q.feasible(q.p), "a ticket that lacks %v has a match", lacks)
		t.Skip("no candidate")
	}
	for _, other := range rapid.Permutation(q.in.Tickets).Draw(t, "order") {
		inquiry.Compare(other)
	}
	q.Findings = inquiry.Findings(1 << 18)
	return q
}

// narrowedByOthers reports whether a rule may fail between the players of one ticket because another ticket is young.
func narrowedByOthers(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		pairs := r.Kind == profile.Near || r.Kind == profile.Same || r.Kind == profile.Different ||
			r.Kind == profile.Avoid
		return r.Age == profile.Each && len(r.Widen) > 0 && !pairs || narrowedByOthers(r.Rules)
	})
}

// feasible reports by brute force whether the ticket has a match under a profile.
func (q *inquired) feasible(p *profile.Profile) bool {
	if p != q.p { // what a ticket lacks for a rule excludes it, however wide the rule is
		q.tickets = slices.DeleteFunc(q.tickets,
			func(t match.Ticket) bool { ok, _ := New(q.in.Version, 0).Candidate(&t); return !ok })
	}
	_, ok := verify.FindWith(p, q.tickets[0].ID, q.tickets, q.regions, q.in.Now)
	return ok
}

// relaxed is the profile with other limits for a rule.
func (q *inquired) relaxed(id string, l profile.Limits) *profile.Profile {
	p := *q.p
	p.Rules = slices.Clone(p.Rules)
	at := slices.IndexFunc(p.Rules, func(r profile.Rule) bool { return r.ID == id })
	p.Rules[at].Limits, p.Rules[at].Widen = l, nil
	return &p
}

// Pins an inquiry that promises a match that there is not, or denies one.
func TestAnInquirySaysWhetherThereIsAMatch(t *testing.T) {
	t.Parallel()
	matches, none := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		q := drawInquiry(t, 6)
		if len(q.Match) > 0 {
			matches++
			require.Contains(t, q.Match, q.tickets[0].ID)
			require.True(t, q.feasible(q.p))
		} else if q.Complete {
			none++
			require.False(t, q.feasible(q.p))
		}
	})
	require.Positive(t, matches)
	require.Positive(t, none)
}

// Pins a change of a rule that is said to give a match and does not, one that is wider than needed, and one that is
// left out.
func TestAnInquirySaysTheLeastRelaxation(t *testing.T) {
	t.Parallel()
	said, least := 0, 0
	check := func(t *rapid.T) {
		q := drawInquiry(t, 5)
		if len(q.Match) > 0 {
			return
		}
		listed := map[string]bool{}
		for _, r := range q.Relaxations {
			said++
			listed[r.ID] = true
			require.True(t, q.feasible(q.relaxed(r.ID, r.Limits)), "%s with %+v", r.ID, r.Limits)
			if narrower, ok := narrowed(r); ok && q.Complete {
				least++
				require.False(t, q.feasible(q.relaxed(r.ID, narrower)), "%s would do with %+v", r.ID, narrower)
			}
		}
		for _, r := range q.p.Rules {
			if !listed[r.ID] && q.Complete {
				require.False(t, q.feasible(q.relaxed(r.ID, profile.Limits{Ended: true})),
					"without %s there is a match", r.ID)
			}
		}
	}
	for n := 0; n < 5 && least == 0; n++ { // a hundred draws may have none
		rapid.Check(t, check)
	}
	require.Positive(t, said)
	require.Positive(t, least)
}

// narrowed returns limits that are a little narrower than a relaxation.
func narrowed(r Relaxation) (l profile.Limits, ok bool) {
	l = r.Limits
	switch {
	case l.Ended:
		return l, false
	case r.Kind == profile.Sizes:
		l.Within--
	case r.Kind == profile.Near || r.Kind == profile.Balance:
		l.Within = math.Nextafter(l.Within, -1)
	case r.Kind == profile.Common:
		l.AtLeast++
	case r.Kind == profile.Latency:
		l.Latency -= time.Millisecond
	default:
		return l, false
	}
	return l, true
}

// Pins a funnel that counts a pair that breaks the rule, or leaves one out, and a nearest ticket that is not.
func TestAnInquiryCountsPairs(t *testing.T) {
	t.Parallel()
	counted := 0
	rapid.Check(t, func(t *rapid.T) {
		q := drawInquiry(t, 8)
		if slices.ContainsFunc(q.tickets[1:], q.sharePlayers) {
			t.Skip("the checker judges no rule for a player who would be in the match twice")
		}
		fewest := math.MaxInt
		holds, left, others := make([]int, len(q.Rules)), make([]int, len(q.Rules)), 0
		for i := range q.tickets[1:] {
			other := &q.tickets[1+i]
			if ok, _ := New(q.in.Version, 0).Candidate(other); !ok {
				continue
			}
			others++
			broken := 0
			for rule := range q.Rules {
				if !q.Rules[rule].OfPairs {
					continue
				}
				if q.pairBreaks(rule, other) {
					broken++
					continue
				}
				holds[rule]++
				if broken == 0 {
					left[rule]++
				}
			}
			byMore := len(q.p.Modes) > 0 || len(q.tickets[0].Players)+len(other.Players) > 2 || newPlan(q.p).maxPlayers < 2
			if broken > 0 && !byMore { // more than rules may exclude the pair
				fewest = min(fewest, broken)
			}
		}
		require.Equal(t, others, q.OtherCandidates)
		for i, r := range q.Rules {
			if r.OfPairs {
				counted++
				require.Equal(t, [2]int{holds[i], left[i]}, [2]int{r.Holds, r.HoldsAllBefore}, r.ID)
			}
		}
		if fewest < math.MaxInt {
			require.NotNil(t, q.Nearest)
			require.LessOrEqual(t, len(q.Nearest.Fails), fewest)
		}
	})
	require.Positive(t, counted)
}

// pairBreaks judges the ticket and another one by a rule alone, in one team.
func (q *inquired) pairBreaks(rule int, other *match.Ticket) bool {
	p := *q.p
	p.Rules = p.Rules[rule : rule+1]
	p.Modes, p.Fewer, p.Trade = nil, nil, nil
	p.Teams = []profile.Team{{Name: "all", Min: 1, Max: 99, Step: 1}}
	m := verify.Match{Tickets: []match.Ticket{q.tickets[0], *other}}
	for i := range m.Tickets {
		for _, player := range m.Tickets[i].Players {
			m.Seats = append(m.Seats, verify.Seat{Ticket: m.Tickets[i].ID, Sub: player.Sub, Team: "all"})
		}
	}
	for _, m.Region = range q.regions {
		if len(verify.Check(&p, m, q.in.Now)) == 0 {
			return false
		}
	}
	return true
}

func (q *inquired) sharePlayers(other match.Ticket) bool {
	return slices.ContainsFunc(q.tickets[0].Players, func(a match.Player) bool {
		return slices.ContainsFunc(other.Players, func(b match.Player) bool { return a.Sub == b.Sub })
	})
}

// Pins a greatest set that is smaller than a match, or than the others that fit.
func TestAnInquiryFindsTheGreatestSet(t *testing.T) {
	t.Parallel()
	var tickets []*match.Ticket
	for i := range 9 {
		tickets = append(tickets, ticket(fmt.Sprintf("t%d", i), skill(float64(1500+10*i)), textOf("role", "damage")))
	}
	tickets = append(tickets, ticket("far", skill(3000)), ticket("tank", skill(1500), textOf("role", "tank")))
	p := tankAndHealer(with(game(5, 5), nearSkill(200)))
	f := inquire(t, p, tickets)
	require.Equal(t, Best{Players: 7, Needed: 10, Lacks: map[string]int{"healer": 2, "tank": 1}}, f.Best)
	require.Equal(t, Reach{ID: "near-skill", OfPairs: true, Holds: 9, HoldsAllBefore: 9}, f.Rules[0])
	require.Equal(t, &Nearest{Ticket: "far", Fails: []RuleValue{{ID: "near-skill", Value: 1500, Limit: 200}}},
		f.Nearest)
	require.Empty(t, f.Relaxations, "no rule conjures healers up")
	require.True(t, f.Complete)
}

func inquire(t *testing.T, p *profile.Profile, tickets []*match.Ticket) Findings {
	t.Helper()
	q, lacks := Inquire(Version{p, 1}, tickets[0], nil, now)
	require.Empty(t, lacks)
	for _, other := range tickets {
		q.Compare(other)
	}
	return q.Findings(1 << 18)
}

// Rules over sets show what came nearest, and how much more they would have to allow.
func TestAnInquiryJudgesSets(t *testing.T) {
	t.Parallel()
	balance := profile.Rule{ID: "balance", Kind: profile.Balance, Attribute: "skill", Teams: profile.FoldMean,
		Limits: profile.Limits{Within: 30}}
	p := with(game(2, 2), nearSkill(500), balance)
	f := inquire(t, p, []*match.Ticket{ticket("a", skill(1000)), ticket("b", skill(1010)), ticket("c", skill(1020)),
		ticket("d", skill(1500))})
	require.Nil(t, f.Match)
	require.Equal(t, Reach{ID: "balance", Judged: true, Value: 235, Limit: 30}, f.Rules[1])
	require.Len(t, f.Relaxations, 1)
	require.Equal(t, "balance", f.Relaxations[0].ID)
	require.InDelta(t, 235, f.Relaxations[0].Limits.Within, 0)
	require.Equal(t, 4, f.Best.Players)
}

// Pins memory that grows with the queue: an inquiry keeps a few hundred of any number of tickets, the only healer among
// them.
func TestAnInquiryKeepsFew(t *testing.T) {
	t.Parallel()
	p := with(game(5, 5), nearSkill(100, step(time.Minute, profile.Limits{Within: 1e6})))
	for i := range p.Teams {
		p.Teams[i].Roles = []profile.Role{{Name: "healer", Min: 1, Max: 1}}
	}
	healer := func(c *match.Ticket) { c.Players[0].Attributes["role"] = match.Value{Kind: match.Text, Text: "healer"} }
	q, _ := Inquire(Version{p, 1}, ticket("a", skill(1500)), nil, now)
	for i, c := range crowd(20_000, 3) {
		c.Created = now
		if i%5000 == 0 {
			healer(c)
			c.Players[0].Attributes["skill"] = match.Value{Kind: match.Number, Number: 1550}
		}
		q.Compare(c)
	}
	f := q.Findings(1 << 18)
	require.LessOrEqual(t, len(q.fittingList.list), 160)
	require.Len(t, f.Match, 10)
	require.Equal(t, 20_000, f.OtherCandidates)
}

func BenchmarkInquiry(b *testing.B) {
	p := with(game(5, 5), nearSkill(1))
	tickets := crowd(50_000, 1)
	for b.Loop() {
		q, _ := Inquire(Version{p, 1}, tickets[0], nil, now)
		for _, c := range tickets {
			q.Compare(c)
		}
		q.Findings(1 << 18)
	}
}
