package optimum

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// every returns the least cost by trying all ways to make pairs.
func every(n int, pair func(i, j int) float64, alone func(i int) float64, done int) float64 {
	first := 0
	for first < n && done&(1<<first) != 0 {
		first++
	}
	if first == n {
		return 0
	}
	best := alone(first) + every(n, pair, alone, done|1<<first)
	for j := first + 1; j < n; j++ {
		if done&(1<<j) == 0 {
			best = min(best, pair(first, j)+every(n, pair, alone, done|1<<first|1<<j))
		}
	}
	return best
}

// The least cost is that of the best of all ways to make pairs: for points in a plane, and for costs without any
// structure, of which some pairs cannot meet. Small whole costs make ties, and odd cycles of equal edges, which are
// what blossoms are for.
func TestPairsAreTheBestOfAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		most := rapid.SampledFrom([]int{2, 5, 1000}).Draw(t, "most")
		costs := rapid.SliceOfN(rapid.IntRange(0, most), n*n, n*n).Draw(t, "costs")
		solo := rapid.SliceOfN(rapid.IntRange(0, most), n, n).Draw(t, "alone")
		apart := rapid.IntRange(0, 4).Draw(t, "apart")
		pair := func(i, j int) float64 {
			if apart > 0 && (i*7+j*3)%5 < apart {
				return math.Inf(1)
			}
			return float64(costs[i*n+j])
		}
		alone := func(i int) float64 { return float64(solo[i]) }
		require.InDelta(t, every(n, pair, alone, 0), Pairs(n, pair, alone), 1e-6)
	})
}

// A larger matching is no worse than one that exchanges of two pairs cannot make better.
func TestNoExchangeIsBetter(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	n := 200
	x, y := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], y[i] = random.Float64(), random.Float64()
	}
	pair := func(i, j int) float64 { return math.Abs(x[i]-x[j]) + math.Abs(y[i]-y[j]) }
	least := Pairs(n, pair, func(int) float64 { return 10 })
	require.Less(t, least, exchanged(n, pair))
	require.Greater(t, least, exchanged(n, pair)/2)
}

// exchanged makes pairs of neighbours in a list, and exchanges members while that is better.
func exchanged(n int, pair func(i, j int) float64) (total float64) {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	for better := true; better; {
		better = false
		for a := 0; a < n; a += 2 {
			for b := a + 2; b < n; b++ {
				now := pair(at[a], at[a+1]) + pair(at[b], at[b^1])
				if pair(at[a], at[b^1])+pair(at[b], at[a+1]) < now-1e-12 {
					at[a], at[b], better = at[b], at[a], true
				}
			}
		}
	}
	for a := 0; a < n; a += 2 {
		total += pair(at[a], at[a+1])
	}
	return total
}

func BenchmarkPairs(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, MaxTickets), make([]float64, MaxTickets)
	for i := range x {
		x[i], y[i] = random.Float64(), random.Float64()
	}
	for b.Loop() {
		Pairs(MaxTickets, func(i, j int) float64 { return math.Abs(x[i]-x[j]) + math.Abs(y[i]-y[j]) }, func(int) float64 { return 1 })
	}
}
