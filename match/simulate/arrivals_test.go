package simulate_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/simulate"
)

const ranked = `
name: ranked
pool: {tags: [ranked], strings: {platform: pc}, doubles: {level: {min: 10}}}
teams: [{name: red, players: 5, roles: {tank: 1, healer: 1}}, {name: blue, players: 5, roles: {tank: 1, healer: 1}}]
rules: [{near: skill, within: 100}, {common: maps}, {latency: 60ms}, {avoid: blocked}, {same: platform}]
`

func options(t *testing.T) simulate.Options {
	t.Helper()
	o := simulate.Defaults()
	o.Profile = must.Get(profile.Parse([]byte(ranked)))(t)
	return o
}

// Arrivals have the rate that was asked for, in order, and every ticket is a candidate.
func TestArrivalsHaveTheRate(t *testing.T) {
	t.Parallel()
	o := options(t)
	arrivals, err := simulate.Arrivals(o)
	require.NoError(t, err)
	engine := decide.New(decide.Version{Profile: o.Profile}, 1)
	n, players, last := 0, 0, o.From
	for a, err := range arrivals {
		require.NoError(t, err)
		require.False(t, a.SeenAt.Before(last))
		last = a.SeenAt
		n++
		players += len(a.Ticket.Players)
		if n <= 1000 {
			ok, why := engine.Candidate(a.Ticket)
			require.True(t, ok, why)
		}
	}
	require.InDelta(t, 36_000, n, 4*190, "a Poisson process deviates by the root of its mean")
	require.InDelta(t, o.PartyMean(), float64(players)/float64(n), 0.05)
}

// Over a whole day the rate is the average, and its curve has its peak at 20:00.
func TestTheDailyCurve(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.From, o.Hours, o.Rate, o.Daily = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), 24, 1, 0.8
	arrivals, err := simulate.Arrivals(o)
	require.NoError(t, err)
	n, hours := 0, [24]int{}
	for a, err := range arrivals {
		require.NoError(t, err)
		n++
		hours[a.SeenAt.Hour()]++
	}
	require.InDelta(t, 86_400, n, 4*300)
	require.InDelta(t, 1.8*3600, hours[20], 300)
	require.InDelta(t, 0.2*3600, hours[8], 150)
}

func TestOptionsOutOfBounds(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*simulate.Options){
		"hours": func(o *simulate.Options) { o.Hours = 0 }, "rate": func(o *simulate.Options) { o.Rate = -1 },
		"daily": func(o *simulate.Options) { o.Daily = 2 }, "parties": func(o *simulate.Options) { o.Parties = []simulate.Share{{Size: 6, Weight: 1}} },
		"skill": func(o *simulate.Options) { o.Skill.Deviation = -1 }, "patience": func(o *simulate.Options) { o.Patience = -1 },
	} {
		o := options(t)
		change(&o)
		_, err := simulate.Arrivals(o)
		require.ErrorContains(t, err, want)
	}
}

// Pins a time to the next ticket that no duration holds: it became a nanosecond on amd64.
func TestARateOfNearlyNothing(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Rate = 1e-12
	arrivals, err := simulate.Arrivals(o)
	require.NoError(t, err)
	for a, err := range arrivals {
		require.NoError(t, err)
		require.Fail(t, "a ticket in 30,000 years", "came at %s", a.SeenAt)
	}
}

// Pins a patience that no duration holds: tickets left before they came on amd64.
func TestPatienceWithoutEnd(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Patience = math.MaxInt64
	arrivals, err := simulate.Arrivals(o)
	require.NoError(t, err)
	for a, err := range arrivals {
		require.NoError(t, err)
		require.WithinRange(t, a.LeftAt, a.SeenAt, a.SeenAt.Add(o.Profile.TTL))
	}
}
