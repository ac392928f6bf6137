package db

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// firstOf makes ties go to the agent that is given first, as long as it is asked once for each.
func firstOf() func(n int) int {
	asked := -1
	return func(int) int { asked++; return asked }
}

func TestSpreadChoosesByLoad(t *testing.T) {
	t.Parallel()
	unlimited := []agentLoad{{connections: 70, maxConnections: new(int32(1000))}, {connections: 60}, {connections: 50, maxConnections: new(int32(100))}}
	declared := []agentLoad{{connections: 70, maxConnections: new(int32(1000))}, {connections: 60, maxConnections: new(int32(61))}, {connections: 50, maxConnections: new(int32(100))}}
	for name, c := range map[string]struct {
		agents   []agentLoad
		strategy string
		want     int
	}{
		"least connections where one is unlimited": {unlimited, "", 2},
		"least share where all declare":            {declared, "least-loaded", 0},
		"any unknown word is least-loaded":         {declared, "fullest", 0},
		"most connections":                         {unlimited, strategyMostLoaded, 0},
		"most share":                               {declared, strategyMostLoaded, 1},
		"fewest rooms of equals":                   {[]agentLoad{{rooms: 2}, {rooms: 1}, {rooms: 3}}, "", 1},
		"fewest rooms of the most loaded":          {[]agentLoad{{connections: 1, rooms: 2}, {connections: 1, rooms: 1}, {rooms: 0}}, strategyMostLoaded, 1},
		"a full agent does not decide how": {
			append([]agentLoad{{connections: 0, maxRooms: new(int32(0))}}, declared...), "", 1,
		},
	} {
		require.Equal(t, [][]int{{c.want}}, spread([]roomGroup{{agents: indexes(len(c.agents)), strategy: c.strategy, rooms: 1}}, c.agents, firstOf()), name)
	}
}

func TestSpreadCountsWhatItHasDealt(t *testing.T) {
	t.Parallel()
	agents := []agentLoad{{maxRooms: new(int32(2))}, {maxRooms: new(int32(1)), rooms: 0}, {connections: 9, maxRooms: new(int32(9)), rooms: 8}}
	groups := []roomGroup{{agents: []int{0, 1, 2}, rooms: 2}, {}, {agents: []int{2, 1, 0}, rooms: 3}}
	require.Equal(t, [][]int{{0, 1}, {}, {0, 2, noCandidate}}, spread(groups, agents, firstOf()))
	require.Zero(t, agents[0].rooms, "the argument is not changed")
}

func TestSpreadPrefersAgentsThatAreNotBusy(t *testing.T) {
	t.Parallel()
	agents := []agentLoad{{inFlight: maxInFlight}, {connections: 1000, inFlight: maxInFlight - 1}}
	require.Equal(t, [][]int{{1, allBusy}}, spread([]roomGroup{{agents: []int{0, 1}, rooms: 2}}, agents, firstOf()))
	full := []agentLoad{{inFlight: maxInFlight, maxRooms: new(int32(0))}}
	require.Equal(t, [][]int{{noCandidate}, {noCandidate}}, spread([]roomGroup{{rooms: 1}, {agents: []int{0}, rooms: 1}}, full, firstOf()))
}

// How agents are compared changes when the last one without a maximum is full.
func TestSpreadComparesAnewWhenTheUndeclaredAreFull(t *testing.T) {
	t.Parallel()
	agents := []agentLoad{
		{maxRooms: new(int32(1))}, {connections: 50, maxConnections: new(int32(100))}, {connections: 60, maxConnections: new(int32(1000))},
	}
	require.Equal(t, [][]int{{0, 2}}, spread([]roomGroup{{agents: indexes(3), rooms: 2}}, agents, firstOf()))
}

func TestSpreadNeverChoosesNegativeOrExhaustedCapacities(t *testing.T) {
	t.Parallel()
	agents := []agentLoad{{maxRooms: new(int32(-1))}, {maxConnections: new(int32(-1))}, {maxConnections: new(int32(0))}, {connections: 5, maxConnections: new(int32(5))}}
	require.Equal(t, [][]int{{noCandidate}}, spread([]roomGroup{{agents: indexes(4), rooms: 1}}, agents, firstOf()))
}

// Equals are drawn evenly, whether by chance or by strategy.
func TestSpreadDrawsEvenly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)).IntN
	for _, r := range []roomGroup{{agents: indexes(4), rooms: 1}, {agents: indexes(4), rooms: 1, strategy: strategyRandom}} {
		drawn := make([]int, 4)
		for range 4000 {
			agents := slices.Repeat([]agentLoad{{rooms: 1}}, 4)
			if r.strategy == strategyRandom {
				agents[1] = agentLoad{connections: 100, rooms: 7}
			}
			drawn[spread([]roomGroup{r}, agents, random)[0][0]]++
		}
		require.Greater(t, slices.Min(drawn), 850, "%v", drawn)
	}
}

// For any requests: limits hold, agents are among those of the request, and none is refused that has a place.
func TestSpreadProperties(t *testing.T) {
	t.Parallel()
	limit := rapid.SampledFrom([]*int32{nil, new(int32(0)), new(int32(3)), new(int32(100))})
	rapid.Check(t, func(t *rapid.T) {
		agents := make([]agentLoad, rapid.IntRange(1, 5).Draw(t, "agents"))
		for i := range agents {
			agents[i] = agentLoad{
				rapid.IntRange(0, 5).Draw(t, "connections"), limit.Draw(t, "max connections"), rapid.IntRange(0, 4).Draw(t, "rooms"),
				limit.Draw(t, "max rooms"), rapid.IntRange(maxInFlight-5, maxInFlight).Draw(t, "in flight"),
			}
		}
		among := rapid.SliceOfDistinct(rapid.IntRange(0, len(agents)-1), rapid.ID)
		var groups []roomGroup
		for range rapid.IntRange(0, 5).Draw(t, "groups") {
			strategy := rapid.SampledFrom([]string{"", strategyMostLoaded, strategyRandom}).Draw(t, "strategy")
			groups = append(groups, roomGroup{agents: among.Draw(t, "among"), strategy: strategy, rooms: rapid.IntRange(0, 10).Draw(t, "rooms")})
		}
		left := slices.Clone(agents)
		for g, dealt := range spread(groups, agents, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "random") }) {
			require.Len(t, dealt, groups[g].rooms)
			for _, at := range dealt {
				holds(t, groups[g], left, at)
			}
		}
	})
}

// holds checks one room against what an agent has left, and counts it. It compares as the protocol says it, in floating
// point.
func holds(t *rapid.T, g roomGroup, left []agentLoad, at int) {
	withPlace := slices.DeleteFunc(slices.Clone(g.agents), func(i int) bool { return !left[i].hasPlace() })
	free := slices.DeleteFunc(slices.Clone(withPlace), func(i int) bool { return left[i].inFlight >= maxInFlight })
	if len(free) == 0 {
		require.Equal(t, len(withPlace) > 0, at == allBusy)
		return
	}
	require.Contains(t, free, at)
	undeclared := slices.ContainsFunc(withPlace, func(i int) bool { return left[i].maxConnections == nil })
	score := func(i int) float64 {
		if undeclared {
			return float64(left[i].connections)
		}
		return float64(left[i].connections) / float64(*left[i].maxConnections)
	}
	for _, other := range free {
		better := score(other) < score(at)
		if g.strategy == strategyMostLoaded {
			better = score(other) > score(at)
		}
		better = better || score(other) == score(at) && left[other].rooms < left[at].rooms
		require.False(t, better && g.strategy != strategyRandom, "%d instead of %d", at, other)
	}
	left[at].rooms++
	left[at].inFlight++
}

// A batch of creates in a fleet of 10,000 agents.
func BenchmarkSpread(b *testing.B) {
	agents := slices.Repeat([]agentLoad{{connections: 10, maxConnections: new(int32(100)), maxRooms: new(int32(100))}}, 10_000)
	groups := []roomGroup{{agents: indexes(len(agents)), rooms: 256}}
	for b.Loop() {
		spread(groups, agents, rand.IntN)
	}
}
