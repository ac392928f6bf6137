package match_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/matchtest"
)

func TestPoolHolds(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range matchtest.Cases() {
		require.False(t, names[c.Name], "two cases are called %q", c.Name)
		names[c.Name] = true
		require.NoError(t, c.Pool.Check(), c.Name)
		require.Equal(t, c.IsHeld, c.Pool.Holds(c.Fields), c.Name)
	}
}

// The table of cases covers every kind of filter with both results: if it lost some, its users would still pass.
func TestCasesCoverEveryFilterBothWays(t *testing.T) {
	t.Parallel()
	type reach struct {
		filter string
		held   bool
	}
	got, count := map[reach]int{}, map[bool]int{true: 1}
	for _, c := range matchtest.Cases() {
		for filter, n := range map[string]int{
			"double": len(c.Pool.Doubles), "string": len(c.Pool.Strings), "tag": len(c.Pool.Tags),
			"before": count[c.Pool.CreatedBefore != nil], "after": count[c.Pool.CreatedAfter != nil],
		} {
			if n > 0 {
				got[reach{filter, c.IsHeld}]++
			}
		}
	}
	for _, filter := range []string{"double", "string", "tag", "before", "after"} {
		require.Greater(t, got[reach{filter, true}], 4, filter)
		require.Greater(t, got[reach{filter, false}], 4, filter)
	}
}

// The generators produce pools that hold the fields and pools that do not: otherwise they would test nothing.
func TestRandomPoolsHoldSomeAndNotOthers(t *testing.T) {
	t.Parallel()
	const tries = 400
	held := 0
	for seed := range tries {
		if matchtest.Pools().Example(seed).Holds(matchtest.Fields().Example(seed)) {
			held++
		}
	}
	require.Greater(t, held, tries/20)
	require.Less(t, held, tries*19/20)
}

// Filters are combined with AND: a pool holds what each of its filters alone holds, in any order of the filters.
func TestPoolHoldsWhatEachFilterHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, f := matchtest.Pools().Draw(t, "pool"), matchtest.Fields().Draw(t, "fields")
		each := true
		singles := []match.Pool{{}, {CreatedBefore: p.CreatedBefore}, {CreatedAfter: p.CreatedAfter}}
		for _, r := range p.Doubles {
			singles = append(singles, match.Pool{Doubles: []match.DoubleRange{r}})
		}
		for _, e := range p.Strings {
			singles = append(singles, match.Pool{Strings: []match.StringEquals{e}})
		}
		for _, tag := range p.Tags {
			singles = append(singles, match.Pool{Tags: []string{tag}})
		}
		for _, single := range singles {
			each = each && single.Holds(f)
		}
		require.Equal(t, each, p.Holds(f))

		p.Doubles, p.Strings, p.Tags = reversed(p.Doubles), reversed(p.Strings), reversed(p.Tags)
		f.Tags = append(reversed(f.Tags), f.Tags...)
		require.Equal(t, each, p.Holds(f), "order and repetition")
	})
}

// Of two adjacent ranges, one that includes their common end and one that excludes it, exactly one holds any number.
func TestAdjacentRangesHoldEachNumberOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		end, x := rapid.Float64().Draw(t, "end"), rapid.Float64().Draw(t, "x")
		below, above := upTo(end, match.ExcludeMax), from(end, match.ExcludeNone)
		require.NotEqual(t, holdsX(below, x), holdsX(above, x))
		below, above = upTo(end, match.ExcludeNone), from(end, match.ExcludeMin)
		require.NotEqual(t, holdsX(below, x), holdsX(above, x))
	})
}

func upTo(end float64, e match.Exclude) match.Pool {
	return match.Pool{Doubles: []match.DoubleRange{{Arg: "x", Min: math.Inf(-1), Max: end, Exclude: e}}}
}

func from(end float64, e match.Exclude) match.Pool {
	return match.Pool{Doubles: []match.DoubleRange{{Arg: "x", Min: end, Max: math.Inf(1), Exclude: e}}}
}

func holdsX(p match.Pool, x float64) bool {
	return p.Holds(match.Fields{Doubles: map[string]float64{"x": x}})
}

func TestPoolCheck(t *testing.T) {
	t.Parallel()
	fine, bad := &match.Moment{Seconds: 1}, &match.Moment{Nanos: -1}
	require.NoError(t, match.Pool{}.Check())
	require.NoError(t, match.Pool{CreatedBefore: fine, CreatedAfter: fine}.Check())
	require.Equal(t, match.Invalid(".invalid created_before value"), match.Pool{CreatedBefore: bad}.Check())
	require.Equal(t, match.Invalid(".invalid created_after value"), match.Pool{CreatedBefore: fine, CreatedAfter: bad}.Check())
	require.EqualError(t, match.Pool{CreatedBefore: bad, CreatedAfter: bad}.Check(), ".invalid created_before value")
}

// FuzzDoubleRange compares the decision for any range with exact arithmetic on the distances from its ends.
func FuzzDoubleRange(f *testing.F) {
	for _, seed := range []float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64} {
		f.Add(seed, seed, seed, int32(0))
		f.Add(seed, 0.0, 1.0, int32(3))
		f.Add(1.0, seed, math.Inf(1), int32(1))
		f.Add(1.0, math.Inf(-1), seed, int32(4))
	}
	f.Fuzz(func(t *testing.T, x, low, high float64, exclude int32) {
		p := match.Pool{Doubles: []match.DoubleRange{{Arg: "x", Min: low, Max: high, Exclude: match.Exclude(exclude)}}}
		want := !slices.ContainsFunc([]float64{x, low, high}, math.IsNaN)
		if want {
			aboveLow, belowHigh := big.NewFloat(x).Cmp(big.NewFloat(low)), big.NewFloat(high).Cmp(big.NewFloat(x))
			want = aboveLow >= 0 && belowHigh >= 0
			want = want && (aboveLow > 0 || exclude != 1 && exclude != 3) && (belowHigh > 0 || exclude != 2 && exclude != 3)
		}
		if exclude < 0 || exclude > 3 {
			want = true
		}
		require.Equal(t, want, holdsX(p, x))
		require.False(t, p.Holds(match.Fields{Strings: map[string]string{"x": ""}}))
	})
}

func reversed[E any](s []E) []E {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}
