package match_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
)

type latencies = map[string]uint16

// Pins a client that says what suits it, this time and the next.
func TestSteadyLatencies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said             latencies
		known            []latencies
		counted, claimed latencies
	}{
		"nothing is known":       {latencies{"eu": 20}, nil, latencies{"eu": 20}, nil},
		"within the jump":        {latencies{"eu": 120, "us": 50}, []latencies{{"eu": 100, "us": 80}}, latencies{"eu": 120, "us": 50}, nil},
		"far too low":            {latencies{"eu": 5}, []latencies{{"eu": 100}}, latencies{"eu": 70}, latencies{"eu": 5}},
		"far too high":           {latencies{"eu": 400, "us": 9}, []latencies{{"eu": 100}}, latencies{"eu": 130, "us": 9}, latencies{"eu": 400}},
		"below zero and above":   {latencies{"eu": 100, "us": 0}, []latencies{{"eu": 10, "us": 9990}}, latencies{"eu": 40, "us": 9960}, latencies{"eu": 100, "us": 0}},
		"a party of two regions": {latencies{"eu": 150, "us": 5}, []latencies{{"eu": 20, "us": 110}, {"eu": 130, "us": 25}}, latencies{"eu": 150, "us": 5}, nil},
		"beyond the party":       {latencies{"eu": 200}, []latencies{{"eu": 20}, {"us": 1}, {"eu": 130}}, latencies{"eu": 160}, latencies{"eu": 200}},
	} {
		counted, claimed := match.SteadyLatencies(c.said, c.known, 30)
		require.Equal(t, c.counted, counted, name)
		require.Equal(t, c.claimed, claimed, name)
	}
}

// However a client lies, what counts moves by one jump at most, and the regions of the ticket stay the same.
func TestALieMovesALatencyByOneJump(t *testing.T) {
	t.Parallel()
	some := rapid.MapOfN(rapid.SampledFrom([]string{"eu", "us", "asia", "sa"}), rapid.Uint16Range(0, match.MaxLatency), 0, 4)
	rapid.Check(t, func(rt *rapid.T) {
		known, said, jump := some.Draw(rt, "known"), some.Draw(rt, "said"), rapid.Uint16Range(1, match.MaxLatency).Draw(rt, "jump")
		counted, claimed := match.SteadyLatencies(said, []latencies{known}, jump)
		require.ElementsMatch(rt, slices.Collect(maps.Keys(said)), slices.Collect(maps.Keys(counted)))
		for region, ms := range counted {
			if was, isKnown := known[region]; isKnown {
				require.LessOrEqual(rt, max(ms, was)-min(ms, was), jump)
			}
			if lie, is := claimed[region]; is {
				require.Equal(rt, said[region], lie)
				require.NotEqual(rt, ms, lie)
				continue
			}
			require.Equal(rt, said[region], ms)
		}
		remembered := match.RememberedLatencies(known, counted)
		for region := range known {
			require.Contains(rt, remembered, region, "a region that is left out does not become unknown")
		}
	})
}

func TestRememberedLatenciesAreBounded(t *testing.T) {
	t.Parallel()
	known := latencies{}
	for i := range uint16(match.MaxRegions) {
		known[string(rune('a'+i/26))+string(rune('a'+i%26))] = i
	}
	all := match.RememberedLatencies(known, latencies{"aa": 77, "made-up": 1})
	require.Len(t, all, match.MaxRegions)
	require.Equal(t, uint16(77), all["aa"])
	require.NotContains(t, all, "made-up", "what a client makes up displaces nothing")
}
