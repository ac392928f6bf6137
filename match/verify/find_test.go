package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
	"github.com/lattice-director/director/match/verify/verifytest"
)

func TestFeasible(t *testing.T) {
	t.Parallel()
	near := profile.Rule{Kind: profile.Near, Attribute: "skill"}
	near.Limits.Within = 1
	p := twoTeams(near)
	p.Teams[0].Min, p.Teams[1].Min = 2, 2
	tickets := seated(red(skilled(1)), red(skilled(2)), red(skilled(9)), red(skilled(2)), party("duo", red(skilled(9))), party("duo", red(skilled(2)))).Tickets
	require.False(t, verify.Feasible(p, tickets, nil, now), "the duo fits with nobody")
	tickets[2].Players[0].Attributes = skilled(2)
	m, ok := verify.Find(p, tickets, nil, now)
	require.True(t, ok)
	require.Len(t, m.Tickets, 4)
	require.Empty(t, verify.Check(p, m, now))
}

// Pins roles that only one assignment fills, and parties that fit only when they are split.
func TestFeasibleRolesAndParties(t *testing.T) {
	t.Parallel()
	p := twoTeams()
	p.Teams = p.Teams[:1]
	p.Teams[0].Roles = []profile.Role{{Name: "healer", Min: 1, Max: 1}, {Name: "tank", Min: 1, Max: 1}}
	takes := func(roles ...string) player { return red(match.Attributes{"role": list(roles...)}) }
	require.True(t, verify.Feasible(p, seated(takes("tank", "healer"), takes("healer")).Tickets, nil, now))
	require.False(t, verify.Feasible(p, seated(takes("tank"), takes("tank")).Tickets, nil, now))

	p = twoTeams()
	p.Teams[0].Max, p.Teams[1].Max = 1, 1
	duo := seated(party("a", red(nil)), party("a", red(nil))).Tickets
	require.False(t, verify.Feasible(p, duo, nil, now))
	p.Teams[0].AllowSplit, p.Teams[1].AllowSplit = true, true
	require.True(t, verify.Feasible(p, duo, nil, now))
}

func TestFeasibleRegions(t *testing.T) {
	t.Parallel()
	latency := profile.Rule{Kind: profile.Latency}
	latency.Limits.Latency = 50_000_000
	p := twoTeams(latency)
	there := func(region string) player { return player{team: "red", ms: map[string]uint16{region: 20, "us": 50}} }
	tickets := seated(there("eu"), there("eu")).Tickets
	for _, c := range []struct {
		regions  []string
		feasible bool
	}{{nil, true}, {[]string{"ap", "us"}, true}, {[]string{"ap"}, false}, {[]string{}, false}} {
		require.Equal(t, c.feasible, verify.Feasible(p, tickets, c.regions, now), c.regions)
	}
}

// Pins a generator whose profiles are never satisfied, or always.
func TestFeasibleOfGenerated(t *testing.T) {
	t.Parallel()
	feasible, checks := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := verifytest.Profiles().Draw(t, "profile")
		tickets := verifytest.Tickets(6).Draw(t, "tickets")
		m, ok := verify.Find(p, tickets, nil, verifytest.Now)
		checks++
		if ok {
			feasible++
			require.Empty(t, verify.Check(p, m, verifytest.Now))
		}
	})
	require.Greater(t, feasible, checks/20)
	require.Less(t, feasible, checks)
}
