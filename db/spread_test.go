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
	unlimited := []agentLoad{{connectionCount: 70, maxConnections: new(int32(1000))}, {connectionCount: 60},
		{connectionCount: 50, maxConnections: new(int32(100))}}
	declared := []agentLoad{{connectionCount: 70, maxConnections: new(int32(1000))},
		{connectionCount: 60, maxConnections: new(int32(61))}, {connectionCount: 50, maxConnections: new(int32(100))}}
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
		"fewest rooms of equals": {[]agentLoad{{roomCount: 2}, {roomCount: 1}, {roomCount: 3}}, "",
			1},
		"fewest rooms of the most loaded": {[]agentLoad{{connectionCount: 1, roomCount: 2},
			{connectionCount: 1, roomCount: 1}, {roomCount: 0}}, strategyMostLoaded, 1},
		"a full agent does not decide how": {
			append([]agentLoad{{connectionCount: 0, maxRooms: new(int32(0))}}, declared...), "", 1,
		},
	} {
		require.Equal(t, [][]int{{c.want}},
			spreadRooms([]roomGroup{{agentIndexes: indexes(len(c.agents)), strategy: c.strategy, roomCount: 1}},
				c.agents, firstOf()), name)
	}
}

func TestSpreadCountsWhatItHasDealt(t *testing.T) {
	t.Parallel()
	agents := []agentLoad{{maxRooms: new(int32(2))}, {maxRooms: new(int32(1)), roomCount: 0},
		{connectionCount: 9, maxRooms: new(int32(9)), roomCount: 8}}
	groups := []roomGroup{{agentIndexes: []int{0, 1, 2}, roomCount: 2}, {},
		{agentIndexes: []int{2, 1, 0}, roomCount: 3}}
	require.Equal(t, [][]int{{0, 1}, {}, {0, 2, noCandidate}}, spreadRooms(groups, agents, firstOf()))
	require.Zero(t, agents[0].roomCount, "the argument is not changed")
}

func TestSpreadPrefersAgentsThatAreNotBusy(t *testing.T) {
	t.Parallel()
	agents := []agentLoad{{inFlight: maxInFlight}, {connectionCount: 1000, inFlight: maxInFlight - 1}}
	require.Equal(t, [][]int{{1, allBusy}},
		spreadRooms([]roomGroup{{agentIndexes: []int{0, 1}, roomCount: 2}}, agents, firstOf()))
	full := []agentLoad{{inFlight: maxInFlight, maxRooms: new(int32(0))}}
	require.Equal(t, [][]int{{noCandidate}, {noCandidate}},
		spreadRooms([]roomGroup{{roomCount: 1}, {agentIndexes: []int{0}, roomCount: 1}}, full, firstOf()))
}

// How agents are compared changes when the last one without a maximum is full.
func TestSpreadComparesAnewWhenTheUndeclaredAreFull(t *testing.T) {
	t.Parallel()
	agents := []agentLoad{
		{maxRooms: new(int32(1))}, {connectionCount: 50, maxConnections: new(int32(100))},
		{connectionCount: 60, maxConnections: new(int32(1000))},
	}
	require.Equal(t, [][]int{{0, 2}}, spreadRooms([]roomGroup{{agentIndexes: indexes(3), roomCount: 2}}, agents,
		firstOf()))
}

func TestSpreadNeverChoosesNegativeOrExhaustedCapacities(t *testing.T) {
	t.Parallel()
	agents := []agentLoad{{maxRooms: new(int32(-1))}, {maxConnections: new(int32(-1))}, {maxConnections: new(int32(0))},
		{connectionCount: 5, maxConnections: new(int32(5))}}
	require.Equal(t, [][]int{{noCandidate}},
		spreadRooms([]roomGroup{{agentIndexes: indexes(4), roomCount: 1}}, agents, firstOf()))
}

// Equals are drawn evenly, whether by chance or by strategy.
func TestSpreadDrawsEvenly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)).IntN
	for _, r := range []roomGroup{{agentIndexes: indexes(4), roomCount: 1},
		{agentIndexes: indexes(4), roomCount: 1, strategy: strategyRandom}} {
		drawn := make([]int, 4)
		for range 4000 {
			agents := slices.Repeat([]agentLoad{{roomCount: 1}}, 4)
			if r.strategy == strategyRandom {
				agents[1] = agentLoad{connectionCount: 100, roomCount: 7}
			}
			drawn[spreadRooms([]roomGroup{r}, agents, random)[0][0]]++
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
				rapid.IntRange(0, 5).Draw(t, "connections"), limit.Draw(t, "max connections"),
				rapid.IntRange(0, 4).Draw(t, "rooms"),
				limit.Draw(t, "max rooms"), rapid.IntRange(maxInFlight-5, maxInFlight).Draw(t, "in flight"),
			}
		}
		among := rapid.SliceOfDistinct(rapid.IntRange(0, len(agents)-1), rapid.ID)
		var groups []roomGroup
		for range rapid.IntRange(0, 5).Draw(t, "groups") {
			strategy := rapid.SampledFrom([]string{"", strategyMostLoaded, strategyRandom}).Draw(t, "strategy")
			groups = append(groups, roomGroup{agentIndexes: among.Draw(t, "among"), strategy: strategy,
				roomCount: rapid.IntRange(0, 10).Draw(t, "rooms")})
		}
		left := slices.Clone(agents)
		for g, dealt := range spreadRooms(groups, agents,
			func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "random") }) {
			require.Len(t, dealt, groups[g].roomCount)
			for _, at := range dealt {
				holds(t, groups[g], left, at)
			}
		}
	})
}

// holds checks one room against what an agent has left, and counts it. It compares as the protocol says it, in floating
// point.
func holds(t *rapid.T, g roomGroup, left []agentLoad, at int) {
	withPlace := slices.DeleteFunc(slices.Clone(g.agentIndexes), func(i int) bool { return !left[i].hasPlace() })
	free := slices.DeleteFunc(slices.Clone(withPlace), func(i int) bool { return left[i].inFlight >= maxInFlight })
	if len(free) == 0 {
		require.Equal(t, len(withPlace) > 0, at == allBusy)
		return
	}
	require.Contains(t, free, at)
	undeclared := slices.ContainsFunc(withPlace, func(i int) bool { return left[i].maxConnections == nil })
	score := func(i int) float64 {
		if undeclared {
			return float64(left[i].connectionCount)
		}
		return float64(left[i].connectionCount) / float64(*left[i].maxConnections)
	}
	for _, other := range free {
		better := score(other) < score(at)
		if g.strategy == strategyMostLoaded {
			better = score(other) > score(at)
		}
		better = better || score(other) == score(at) && left[other].roomCount < left[at].roomCount
		require.False(t, better && g.strategy != strategyRandom, "%d instead of %d", at, other)
	}
	left[at].roomCount++
	left[at].inFlight++
}

// A batch of creates in a fleet of 10,000 agents.
func BenchmarkSpread(b *testing.B) {
	agents := slices.Repeat([]agentLoad{{connectionCount: 10, maxConnections: new(int32(100)),
		maxRooms: new(int32(100))}}, 10_000)
	groups := []roomGroup{{agentIndexes: indexes(len(agents)), roomCount: 256}}
	for b.Loop() {
		spreadRooms(groups, agents, rand.IntN)
	}
}
