package match_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/matchtest"
)

// A store that answers queries on rows decides as Holds does.
func TestQueryOfRowDecidesLikeHolds(t *testing.T) {
	t.Parallel()
	for _, c := range matchtest.Cases() {
		require.Equal(t, c.IsHeld, answered(c.Pool, c.Fields), c.Name)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := matchtest.Fields().Draw(t, "fields")
		for _, p := range []match.Pool{matchtest.Pools().Draw(t, "pool"), matchtest.Fitting(f).Draw(t, "fitting")} {
			require.Equal(t, p.Holds(f), answered(p, f))
		}
	})
}

// answered is the decision of the store, as specified by Query.
func answered(p match.Pool, f match.Fields) bool {
	q, some := p.Query()
	r := f.Row()
	if !some || q.CreatedAfter >= r.Created || r.Created >= q.CreatedBefore {
		return false
	}
	for _, rg := range q.Ranges {
		i := slices.Index(r.Keys, rg.Key)
		if i < 0 || !notAfter(rg.Low, r.Doubles[i]) || !notAfter(r.Doubles[i], rg.High) {
			return false
		}
	}
	return all(q.Terms, r.Terms) && all(q.Present, r.Keys)
}

// notAfter is <= as in Postgres: NaN is equal to itself and greater than every number.
func notAfter(a, b float64) bool { return math.IsNaN(b) || a <= b }

func all(wanted, has []uuid.UUID) bool {
	return !slices.ContainsFunc(wanted, func(u uuid.UUID) bool { return !slices.Contains(has, u) })
}

// One release stores rows and the next queries them, so the term of a text must never change. The expected values are
// those of sha256sum for the kind, the length of the name, the name and the text.
func TestTermsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := match.Fields{Tags: []string{"beta"}}.Row()
	require.Equal(t, "a2db0c72-28ed-e890-e5ef-ab5ed04c021b", r.Terms[0].String())
	r = match.Fields{Strings: map[string]string{"mode": "duel"}, Doubles: map[string]float64{"level": 3}}.Row()
	require.Equal(t, "ba9a160f-4a87-c82c-5c5e-aa1129385660", r.Terms[0].String())
	require.Equal(t, "46cc26ea-6f5a-2a32-a0c1-82919f03bfa2", r.Keys[0].String())
	require.Equal(t, []float64{3}, r.Doubles)
}

// Pairs of names and texts that would be equal if they were only concatenated.
func TestTermsKeepTextsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		short := rapid.StringN(0, 3, -1)
		a := match.StringEquals{Arg: short.Draw(t, "arg"), Value: short.Draw(t, "value")}
		b := match.StringEquals{Arg: short.Draw(t, "other arg"), Value: short.Draw(t, "other value")}
		of := func(e match.StringEquals) uuid.UUID {
			return match.Fields{Strings: map[string]string{e.Arg: e.Value}}.Row().Terms[0]
		}
		require.Equal(t, a == b, of(a) == of(b))
	})
}

func TestRowHasEachTermOnce(t *testing.T) {
	t.Parallel()
	r := match.Fields{Tags: []string{"a", "b", "a", "b", "a"}}.Row()
	require.Len(t, r.Terms, 2)
	require.NotNil(t, match.Fields{}.Row().Terms)
}

func BenchmarkRow(b *testing.B) {
	f := match.Fields{
		Doubles: map[string]float64{"mmr": 1500, "latency": 20}, Strings: map[string]string{"region": "eu", "mode": "duel"}, Tags: []string{"beta"},
	}
	for b.Loop() {
		f.Row()
	}
}
