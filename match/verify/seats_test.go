package verify_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
)

// broken returns the names of the conditions that do not hold.
func broken(p *profile.Profile, m verify.Match) (names []string) {
	for _, v := range verify.Check(p, m, now) {
		names = append(names, v.Rule)
	}
	return names
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	ranked := &match.Pool{Tags: []string{"ranked"}}
	tagged := match.Fields{Tags: []string{"ranked"}}
	for name, c := range map[string]struct {
		pool      *match.Pool
		fields    match.Fields
		profiles  []string
		candidate bool
	}{
		"names it, no pool":            {nil, match.Fields{}, []string{"test"}, true},
		"names nothing, no pool":       {nil, match.Fields{}, nil, false},
		"names nothing, in the pool":   {ranked, tagged, nil, true},
		"names nothing, not in it":     {ranked, match.Fields{}, nil, false},
		"names it, not in the pool":    {ranked, match.Fields{}, []string{"test"}, false},
		"names another, in the pool":   {ranked, tagged, []string{"other"}, false},
		"names it and another, in it":  {ranked, tagged, []string{"other", "test"}, true},
		"names nothing, in every pool": {&match.Pool{}, match.Fields{}, nil, true},
	} {
		p := twoTeams()
		p.Pool = c.pool
		m := seated(red(nil), blue(nil))
		for i := range m.Tickets {
			m.Tickets[i].Fields, m.Tickets[i].Profiles = c.fields, c.profiles
		}
		require.Equal(t, c.candidate, len(verify.Check(p, m, now)) == 0, name)
	}
}

// Pins declared attributes: without a default a ticket must have them, with one it is what rules compare.
func TestDeclaredAttributes(t *testing.T) {
	t.Parallel()
	near := profile.Rule{Kind: profile.Near, Attribute: "skill"}
	p := twoTeams(near)
	p.Attributes = map[string]profile.Attribute{"skill": {Kind: match.Number}}
	m := seated(red(skilled(7)), blue(nil))
	require.Contains(t, broken(p, m), "candidate")
	seven := number(7)
	p.Attributes["skill"] = profile.Attribute{Kind: match.Number, Default: &seven}
	require.Empty(t, broken(p, m))
	seven.Number = 8
	require.Equal(t, []string{"rule"}, broken(p, m))
}

func TestWhole(t *testing.T) {
	t.Parallel()
	p := twoTeams()
	duo := func() verify.Match { return seated(party("a", red(nil)), party("a", red(nil)), blue(nil)) }
	require.Empty(t, broken(p, duo()))

	left := duo()
	left.Seats = left.Seats[1:]
	require.Equal(t, []string{"whole"}, broken(p, left))

	stranger := duo()
	stranger.Seats = append(stranger.Seats, verify.Seat{Ticket: "b", Sub: "p9", Team: "blue"})
	require.Equal(t, []string{"whole"}, broken(p, stranger))

	twice := duo()
	twice.Tickets[1].Players[0].Sub, twice.Seats[2].Sub = "p0", "p0" // by another ticket
	require.Equal(t, []string{"once"}, broken(p, twice))

	require.Contains(t, broken(p, verify.Match{}), "whole")
}

func TestTeams(t *testing.T) {
	t.Parallel()
	p := twoTeams()
	p.Teams[0].Min, p.Teams[0].Step = 2, 2
	for name, c := range map[string]struct {
		reds  int
		holds bool
	}{"fewer": {1, false}, "least": {2, true}, "between the steps": {3, false}, "greatest": {4, true}, "more": {5, false}} {
		players := []player{blue(nil)}
		for range c.reds {
			players = append(players, red(nil))
		}
		require.Equal(t, c.holds, len(verify.Check(p, seated(players...), now)) == 0, name)
	}
	unknown := seated(red(nil), red(nil), blue(nil), player{team: "green"})
	require.Equal(t, []string{"teams"}, broken(p, unknown))
}

func TestFewer(t *testing.T) {
	t.Parallel()
	p := twoTeams()
	p.Teams[0].Min, p.Teams[1].Min = 4, 2
	p.Fewer = []profile.Fewer{
		{AfterWait: 10 * time.Second, Players: map[string]int{"red": 3, "blue": 1}},
		{AfterWait: 20 * time.Second, Players: map[string]int{"red": 2}},
	}
	for waitedFor, least := range map[time.Duration]int{10*time.Second - 1: 4, 10 * time.Second: 3, 20 * time.Second: 2} {
		for reds := 1; reds <= 4; reds++ {
			players := []player{waited(waitedFor, blue(nil)), blue(nil)}
			for range reds {
				players = append(players, red(nil))
			}
			require.Equal(t, reds >= least, len(verify.Check(p, seated(players...), now)) == 0, "%s, %d", waitedFor, reds)
		}
	}
	require.Empty(t, broken(p, seated(waited(20*time.Second, blue(nil)), red(nil), red(nil))), "blue's step holds on")
	p.Age = profile.Each
	require.Contains(t, broken(p, seated(waited(20*time.Second, blue(nil)), red(nil), red(nil))), "teams")
}

func TestParties(t *testing.T) {
	t.Parallel()
	p := twoTeams()
	m := seated(party("a", red(nil)), party("a", blue(nil)))
	require.Equal(t, []string{"parties"}, broken(p, m))
	p.Teams[0].AllowSplit = true
	require.Equal(t, []string{"parties"}, broken(p, m))
	p.Teams[1].AllowSplit = true
	require.Empty(t, broken(p, m))
}

func TestRoles(t *testing.T) {
	t.Parallel()
	wishes := func(role string, v match.Value) player {
		return player{team: "red", role: role, has: match.Attributes{"role": v}}
	}
	p := twoTeams()
	p.Teams[0].Roles = []profile.Role{{Name: "healer", Min: 1, Max: 1}, {Name: "tank", Min: 1, Max: 2}}
	healer, tank := wishes("healer", list("tank", "healer")), wishes("tank", text("tank"))
	require.Empty(t, broken(p, seated(healer, tank, blue(nil))))
	require.Empty(t, broken(p, seated(healer, tank, wishes("", text("tank")), blue(nil))), "a role is not taken by all who would")
	for name, players := range map[string][]player{
		"none":             {healer, blue(nil)},
		"too many":         {healer, tank, tank, tank, blue(nil)},
		"does not take it": {healer, wishes("tank", text("healer")), blue(nil)},
		"not of the team":  {healer, tank, {team: "blue", role: "tank", has: tank.has}},
	} {
		require.Contains(t, broken(p, seated(players...)), "roles", name)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	p := twoTeams()
	p.Modes = []string{"arena", "duel"}
	m := seated(red(match.Attributes{"modes": list("duel")}), blue(nil))
	require.Empty(t, broken(p, m))
	for mode, holds := range map[string]bool{"duel": true, "arena": false, "other": false} {
		m.Mode = mode
		require.Equal(t, holds, len(broken(p, m)) == 0, mode)
	}
}

func TestJoining(t *testing.T) {
	t.Parallel()
	p := twoTeams()
	p.JoinInProgress = profile.JoinInProgress{When: profile.Allow, Within: time.Minute}
	roster := func(teams ...string) *verify.Session {
		s := &verify.Session{Started: now.Add(-time.Minute)}
		for i, team := range teams {
			s.Roster = append(s.Roster, verify.RosterPlayer{Seat: verify.Seat{Ticket: "r", Sub: "r" + string(rune('0'+i)), Team: team}, Attributes: skilled(3)})
		}
		return s
	}
	m := seated(red(skilled(3)))
	m.Joins = roster("blue", "blue")
	require.Empty(t, broken(p, m), "a party may be split in a roster, and a team may be incomplete still")

	m.Joins = roster("red", "blue")
	require.Empty(t, broken(p, m))
	m.Joins = roster("red", "red", "blue")
	require.Equal(t, []string{"join_in_progress"}, broken(p, m), "one more for the larger team")
	m.Joins = roster("red", "red", "red", "red", "blue", "blue", "blue", "blue")
	require.Contains(t, broken(p, m), "teams")

	m.Joins = roster("blue")
	m.Joins.Started = now.Add(-time.Minute - 1)
	require.Equal(t, []string{"join_in_progress"}, broken(p, m), "too late")
	m.Joins = roster("blue")
	p.JoinInProgress.When = profile.Never
	require.Equal(t, []string{"join_in_progress"}, broken(p, m))

	p = twoTeams(profile.Rule{Kind: profile.Near, Attribute: "skill"})
	p.JoinInProgress.When = profile.Prefer
	require.Empty(t, broken(p, m))
	m.Joins.Roster[0].Attributes = skilled(4)
	require.Equal(t, []string{"rule"}, broken(p, m), "rules hold over the roster too")
}

// Pins a check that read the oldest ticket of a match that has none.
func TestAMatchWithoutTicketsIsReported(t *testing.T) {
	t.Parallel()
	p := twoTeams()
	p.Trade = []profile.Trade{{Attribute: "skill", PerSecond: 1}}
	require.Contains(t, broken(p, verify.Match{}), "whole")
}
