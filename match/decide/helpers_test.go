package decide

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// begin is when the tests' first tickets are created.
var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// now is when the tests decide, unless they say otherwise.
var now = begin.Add(time.Hour)

type option func(*match.Ticket)

// ticket returns a solo ticket of player "id" that asks for the profile "p".
func ticket(id string, options ...option) *match.Ticket {
	t := &match.Ticket{ID: id, Created: now, Profiles: []string{"p"}, Players: []match.Player{{Sub: id, Attributes: match.Attributes{}}}}
	for _, o := range options {
		o(t)
	}
	return t
}

func waited(d time.Duration) option { return func(t *match.Ticket) { t.Created = now.Add(-d) } }

func party(n int) option {
	return func(t *match.Ticket) {
		first := t.Players[0]
		t.Players = nil
		for i := range n {
			t.Players = append(t.Players, match.Player{Sub: fmt.Sprintf("%s/%d", first.Sub, i), Attributes: first.Attributes})
		}
	}
}

func set(name string, v match.Value) option {
	return func(t *match.Ticket) {
		for i := range t.Players {
			t.Players[i].Attributes[name] = v
		}
	}
}

func number(name string, x float64) option {
	return set(name, match.Value{Kind: match.Number, Number: x})
}

func textOf(name, s string) option { return set(name, match.Value{Kind: match.Text, Text: s}) }

func list(name string, texts ...string) option {
	return set(name, match.Value{Kind: match.List, List: texts})
}

func skill(x float64) option { return number("skill", x) }

func ping(region string, ms uint16) option {
	return func(t *match.Ticket) {
		if t.Latencies == nil {
			t.Latencies = map[string]uint16{}
		}
		t.Latencies[region] = ms
	}
}

// game returns a profile of teams of so many players, with the names of colours.
func game(sizes ...int) *profile.Profile {
	p := &profile.Profile{Name: "p"}
	for i, n := range sizes {
		p.Teams = append(p.Teams, profile.Team{Name: fmt.Sprintf("team-%d", i+1), Min: n, Max: n, Step: 1})
	}
	return p
}

func with(p *profile.Profile, rules ...profile.Rule) *profile.Profile {
	for i := range rules {
		if rules[i].ID == "" {
			rules[i].ID = fmt.Sprintf("rule-%d", i+1)
		}
	}
	p.Rules = append(p.Rules, rules...)
	return p
}

func nearSkill(within float64, widen ...profile.Step) profile.Rule {
	return profile.Rule{ID: "near-skill", Kind: profile.Near, Attribute: "skill", Limits: profile.Limits{Within: within}, Widen: widen}
}

func step(after time.Duration, l profile.Limits) profile.Step {
	return profile.Step{AfterWait: after, Limits: l}
}

func decide(p *profile.Profile, tickets ...*match.Ticket) []Proposal {
	return Decide(Input{Version: Version{p, 1}, Tickets: tickets, Now: now, Seed: 7}).Proposals
}

// crowd returns n solo tickets of one second apart, with normally distributed skills.
func crowd(n int, seed uint64) []*match.Ticket {
	random := rand.New(rand.NewPCG(seed, 1))
	tickets := make([]*match.Ticket, n)
	for i := range tickets {
		tickets[i] = ticket(fmt.Sprintf("t%06d", i), skill(1500+300*random.NormFloat64()))
		tickets[i].Created = begin.Add(time.Duration(i) * time.Millisecond)
	}
	return tickets
}
