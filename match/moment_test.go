package match_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
)

func TestMomentValid(t *testing.T) {
	t.Parallel()
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, at := range []time.Time{first, last, time.Unix(0, 0), time.Unix(-1, 5)} {
		require.True(t, match.MomentOf(at).Valid(), at)
	}
	for _, m := range []match.Moment{
		match.MomentOf(first.Add(-1)), match.MomentOf(last.Add(1)), {Nanos: -1}, {Nanos: 1_000_000_000}, {Seconds: 1 << 62}, {Seconds: -1 << 62},
	} {
		require.False(t, m.Valid(), m)
	}
}

var validMoments = rapid.Custom(func(t *rapid.T) match.Moment {
	return match.Moment{
		Seconds: rapid.OneOf(rapid.Int64Range(-62135596800, 253402300799), rapid.Int64Range(-2, 2), rapid.Int64Range(9223372034, 9223372038),
			rapid.Int64Range(-9223372038, -9223372034)).Draw(t, "seconds"),
		Nanos: rapid.OneOf(rapid.Int32Range(0, 999_999_999), rapid.SampledFrom([]int32{0, 1, 999_999_999})).Draw(t, "nanos"),
	}
})

func TestMomentsAreOrderedLikeTimes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := validMoments.Draw(t, "a"), validMoments.Draw(t, "b")
		ta, tb := time.Unix(a.Seconds, int64(a.Nanos)), time.Unix(b.Seconds, int64(b.Nanos))
		require.Equal(t, ta.Before(tb), a.Before(b))
		require.Equal(t, a, match.MomentOf(ta))
	})
}

// A store that compares nanoseconds decides as Before does, for every creation time in the range of 64 bits.
func TestUnixNanoDecidesLikeBefore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		created := match.Moment{Seconds: rapid.Int64Range(-9223372035, 9223372035).Draw(t, "seconds"), Nanos: rapid.Int32Range(0, 999_999_999).Draw(t, "nanos")}
		require.Equal(t, time.Unix(created.Seconds, int64(created.Nanos)).UnixNano(), created.UnixNano())
		bound := validMoments.Draw(t, "bound")
		require.Equal(t, created.Before(bound), created.UnixNano() < bound.UnixNano())
		require.Equal(t, bound.Before(created), bound.UnixNano() < created.UnixNano())
	})
}
