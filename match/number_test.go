package match_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
)

func TestLatencyOf(t *testing.T) {
	t.Parallel()
	for ms, want := range map[float64]int{0: 0, 20: 20, 10_000: 10_000, 20.5: -1, 10_000.5: -1, 10_001: -1, -1: -1, math.Inf(1): -1} {
		got, ok := match.LatencyOf(ms)
		require.Equal(t, want >= 0, ok, ms)
		require.Equal(t, max(want, 0), int(got), ms)
	}
	_, ok := match.LatencyOf(math.NaN())
	require.False(t, ok)
}

// Pins two ids of 64 bits that become one number.
func TestParseNumberRefusesWhatItWouldRound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "1480": 1480, "0.1": 0.1, "1e3": 1000, "9007199254740992": 1 << 53, "-9007199254740992": -(1 << 53), "9007199254740994": 1<<53 + 2,
		"9007199254740993.5": 9007199254740994, "1e300": 1e300,
	} {
		got, problem := match.ParseNumber(text)
		require.Empty(t, problem, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"9007199254740993", "-9007199254740993", "76561198000000001", "1e999", "x", ""} {
		_, problem := match.ParseNumber(text)
		require.NotEmpty(t, problem, text)
	}
}
