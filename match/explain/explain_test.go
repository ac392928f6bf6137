package explain_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/profile"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const ranked = `
name: ranked-5v5
mode: arena
pool: {tags: [ranked]}
teams:
  - {name: red, players: 5, roles: {tank: 1, healer: 1}}
  - {name: blue, players: 5, roles: {tank: 1, healer: 1}}
rules:
  - {near: skill, within: 100, widen: [{after: 10s, within: 200}, {after: 60s, within: any}]}
  - {balance: skill, teams: mean, within: 60}
  - {latency: 60ms, widen: [{after: 15s, latency: 120ms}]}
fewer: [{after: 45s, players: 4}]
`

func parse(t *testing.T, document string) *profile.Profile {
	t.Helper()
	return must.Get(profile.Parse([]byte(document)))(t)
}

// solo returns a ticket of one player that asks for ranked-5v5.
func solo(id string, waited time.Duration, skill float64, role string) *match.Ticket {
	return &match.Ticket{
		ID: id, Created: now.Add(-waited), Profiles: []string{"ranked-5v5"}, Fields: match.Fields{Tags: []string{"ranked"}},
		Latencies: map[string]uint16{"eu": 48, "us": 130},
		Players: []match.Player{{Sub: "player-" + id, Attributes: match.Attributes{
			"skill": {Kind: match.Number, Number: skill}, "role": {Kind: match.Text, Text: role},
		}}},
	}
}

func asked(p *profile.Profile) []explain.Asked {
	return []explain.Asked{{Name: p.Name, Version: 4, Profile: p}}
}

func answer(q explain.Question, others ...*match.Ticket) explain.Ticket {
	e := explain.Begin(q)
	for _, o := range others {
		e.Compare(o)
	}
	return e.Answer(false)
}

// scenes are what operators ask most. Their golden files say what they read.
func scenes(t *testing.T) map[string]explain.Ticket {
	t.Helper()
	p := parse(t, ranked)
	var crowd []*match.Ticket
	for i := range 31 {
		crowd = append(crowd, solo(fmt.Sprintf("d%02d", i), time.Duration(i)*time.Second, 1500+float64(5*i), "damage"))
	}
	withRoles := slices.Concat(crowd[:7], []*match.Ticket{solo("tank-1", 0, 1510, "tank"), solo("tank-2", 0, 1500, "tank"), solo("healer-far", 0, 1731, "healer")})
	waiting := solo("me", 34*time.Second, 1500, "healer")
	hosts := explain.Hosts{"eu": {"arena": 4}, "us": {"arena": 40}, "ap": {"duel": 10}}
	lost := solo("me", time.Second, 1500, "tank")
	lost.Fields, lost.Latencies = match.Fields{}, nil
	delete(lost.Players[0].Attributes, "skill")
	return map[string]explain.Ticket{
		"no_healer":   answer(explain.Question{Ticket: waiting, Now: now, State: "queued", Profiles: asked(p), Hosts: hosts}, crowd...),
		"too_far":     answer(explain.Question{Ticket: waiting, Now: now, State: "queued", Profiles: asked(p), Hosts: hosts}, withRoles...),
		"no_server":   answer(explain.Question{Ticket: waiting, Now: now, State: "waiting_for_server", Profiles: asked(p), Hosts: hosts}, append(withRoles, solo("healer", 0, 1500, "healer"))...),
		"no_host":     answer(explain.Question{Ticket: waiting, Now: now, State: "queued", Profiles: asked(p)}, withRoles...),
		"unsuitable":  answer(explain.Question{Ticket: lost, Now: now, State: "queued", Profiles: asked(p), Hosts: hosts}),
		"paused":      answer(explain.Question{Ticket: waiting, Now: now, State: "paused", Profiles: asked(p), Hosts: hosts}, crowd...),
		"other_seats": answer(explain.Question{Ticket: waiting, Now: now, State: "queued", Profiles: append(asked(p), explain.Asked{Name: "old", Unusable: explain.Reason{Reason: explain.Retired, Text: "the profile is retired"}}), Hosts: hosts, Seats: []explain.OtherSeat{{Player: "player-me", Region: "eu", Mode: "arena", Session: "eu.1"}}}),
	}
}

// Pins an operator who is not told that the ticket waits for bots.
func TestATicketThatWaitsForBots(t *testing.T) {
	t.Parallel()
	p := parse(t, ranked+"fill: bots after 60s\n")
	at := func(wait time.Duration) string {
		return answer(explain.Question{Ticket: solo("me", wait, 1500, "healer"), Now: now, State: "queued", Profiles: asked(p)}).Text()
	}
	require.Contains(t, at(34*time.Second), "  step: fewer 10 players, wider in 11s\n  step: fill 10 players, wider in 26s\n")
	require.Contains(t, at(50*time.Second), "  step: fewer 8 players\n  step: fill 8 players, wider in 10s\n")
	require.Contains(t, at(time.Minute), "  step: fewer 8 players\n  step: fill 4 players\n", "the tank and the healer of each team are players")
}

// A match that the rules allow and the trade delays is announced with its time.
func TestAMatchThatWaitsForItsTrade(t *testing.T) {
	t.Parallel()
	p := parse(t, "name: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nrules: [{near: skill, within: 500}]\ntrade: {skill: 10 per second}\n")
	me, other := solo("me", 4*time.Second, 1500, "tank"), solo("other", time.Second, 1600, "tank")
	for _, ticket := range []*match.Ticket{me, other} {
		ticket.Profiles = []string{"duel"}
	}
	found := answer(explain.Question{Ticket: me, Now: now, State: "queued", Profiles: asked(p)}, other)
	require.Equal(t, now.Add(2500*time.Millisecond), *found.Profiles[0].MatchAt)
	require.Contains(t, found.Text(), "it will be matched in 2.5s at the latest, by the profile's trade, with 1 other ticket")
	other.Players[0].Attributes["skill"] = match.Value{Kind: match.Number, Number: 1520}
	found = answer(explain.Question{Ticket: me, Now: now, State: "queued", Profiles: asked(p)}, other)
	require.Nil(t, found.Profiles[0].MatchAt)
	require.Contains(t, found.Text(), "it can be matched now with 1 other ticket")
}

// Pins documents and texts that nobody can read.
func TestGolden(t *testing.T) {
	t.Parallel()
	golden := func(name string, v any, text string) {
		document := string(must.Get(json.MarshalIndent(v, "", "  "))(t)) + "\n"
		for file, got := range map[string]string{name + ".json": document, name + ".txt": text} {
			file = filepath.Join("testdata", file)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
			}
			require.Equal(t, string(must.Get(os.ReadFile(file))(t)), got)
		}
	}
	for name, found := range scenes(t) {
		golden(name, found, found.Text())
	}
	stored := must.Get(explain.EncodeWhy(proposal(2), map[string]int{"blue": 2}))(t)
	committed, waited := now.Add(4*time.Millisecond), int64(34_500)
	m := explain.Match{
		Schema: explain.Schema, MatchID: "0c3a5c0e-6f5e-4f59-9c57-1d8c7b1c9a10", AsOf: now.Add(time.Minute), State: "playing", Profile: "ranked-5v5", Version: 4, Seed: "81985529216486895",
		DecidedAt: now, CommittedAt: &committed, Mode: "arena", Region: "eu", Session: "eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10", Host: "eu-arena-7",
		Tickets: []explain.TicketOutcome{{"t-0", "assigned", &waited}, {"t-1", "assigned", nil}},
	}
	require.NoError(t, json.Unmarshal(stored, &m.Why))
	golden("match", m, m.Text())
}

// The sentences that the documents exist for.
func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	all := scenes(t)
	for scene, sentence := range map[string]string{
		"no_healer":   "best 7 of 10 players, lacks healer 1, tank 2",
		"too_far":     "would match if near-skill allowed 231",
		"no_server":   "no game region has a server for the match",
		"no_host":     "no game region has a host of mode arena",
		"unsuitable":  "the pool's filter on tag ranked does not hold",
		"paused":      "the ticket is paused",
		"other_seats": "player player-me holds a seat in session eu.1",
	} {
		require.Contains(t, all[scene].Text(), sentence, scene)
	}
	require.Equal(t, 231.0, *all["too_far"].Profiles[0].WouldMatch[0].Within)
}

// proposal has so many tickets, half of them in each team.
func proposal(tickets int) decide.Proposal {
	p := decide.Proposal{
		Anchor: "t-0", Rules: []decide.RuleValue{{ID: "near-skill", Value: 143, Limit: 200}, {ID: "common-maps", Value: 2, Limit: 1, Text: "dust"}},
		Preferences: []decide.PreferenceValue{{ID: "prefer/common-languages", Weight: 3, Holds: true}, {ID: "prefer/party_sizes", Weight: 0.5}},
		Teams:       []decide.Team{{Name: "red"}, {Name: "blue"}}, Regions: []decide.RegionChoice{{Name: "eu", Measured: true, Worst: 71}, {Name: "us"}},
		PassedOver: []decide.PassedOver{{Ticket: "t-9", Because: "latency"}},
	}
	for i := range tickets {
		team := &p.Teams[i%2]
		team.Seats = append(team.Seats, decide.Seat{Ticket: fmt.Sprintf("t-%d", i), Sub: "p"})
	}
	return p
}

// Pins reasons that do not fit into the history.
func TestWhyIsBounded(t *testing.T) {
	t.Parallel()
	p := proposal(1000)
	for i := range 300 {
		p.Regions = append(p.Regions, decide.RegionChoice{Name: strings.Repeat("r", i)})
	}
	text, err := explain.EncodeWhy(p, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), 4096)
	var w explain.Why
	require.NoError(t, json.Unmarshal(text, &w))
	require.True(t, w.Truncated)
	require.Equal(t, "t-0", w.Anchor)
	require.Len(t, w.Rules, 2)
	require.Empty(t, w.Teams)
}
