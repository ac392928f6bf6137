package match_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
)

func TestEvaluate(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for name, c := range map[string]struct {
		proposals []match.Proposal
		accepted  []string
	}{
		"nothing":           {nil, nil},
		"one without score": {[]match.Proposal{{ID: "m", Tickets: []string{"a"}}}, []string{"m"}},
		"one without tickets": {
			[]match.Proposal{{ID: "m"}, {ID: "n"}}, []string{"m", "n"},
		},
		"the greater score wins": {
			[]match.Proposal{{ID: "low", Score: new(1.0), Tickets: []string{"a", "b"}}, {ID: "high", Score: new(2.0), Tickets: []string{"b", "c"}}},
			[]string{"high"},
		},
		"of equal scores the first wins": {
			[]match.Proposal{{ID: "first", Score: new(1.0), Tickets: []string{"a"}}, {ID: "second", Score: new(1.0), Tickets: []string{"a"}}},
			[]string{"first"},
		},
		"best first": {
			[]match.Proposal{{ID: "c", Score: new(-1.0)}, {ID: "a", Score: new(inf)}, {ID: "b"}, {ID: "d", Score: new(0.5)}},
			[]string{"a", "d", "c", "b"},
		},
		"no score is less than any, and NaN less than none": {
			[]match.Proposal{{ID: "nan", Score: new(nan), Tickets: []string{"a"}}, {ID: "none", Tickets: []string{"a", "b"}}, {ID: "low", Score: new(-math.MaxFloat64), Tickets: []string{"b"}}},
			[]string{"low", "nan"},
		},
		// A refused proposal uses no tickets.
		"a refused match frees its tickets": {
			[]match.Proposal{{ID: "1", Score: new(3.0), Tickets: []string{"a"}}, {ID: "2", Score: new(2.0), Tickets: []string{"a", "b"}}, {ID: "3", Score: new(1.0), Tickets: []string{"b"}}},
			[]string{"1", "3"},
		},
		"a ticket twice in one match is its own affair": {
			[]match.Proposal{{ID: "m", Tickets: []string{"a", "a"}}}, []string{"m"},
		},
		"a backfill takes one match": {
			[]match.Proposal{{ID: "1", Tickets: []string{"a"}, Backfill: "f"}, {ID: "2", Tickets: []string{"b"}, Backfill: "f"}, {ID: "3", Tickets: []string{"b"}, Backfill: "g"}},
			[]string{"1", "3"},
		},
		"new backfills are not the same one": {
			[]match.Proposal{{ID: "1", Tickets: []string{"a"}}, {ID: "2", Tickets: []string{"b"}}}, []string{"1", "2"},
		},
		"a backfill named like a ticket": {
			[]match.Proposal{{ID: "1", Tickets: []string{"x"}}, {ID: "2", Tickets: []string{"b"}, Backfill: "x"}}, []string{"1", "2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := slices.Clone(c.proposals)
			require.Equal(t, c.accepted, match.Evaluate(c.proposals))
			for i := range given {
				require.Equal(t, given[i].ID, c.proposals[i].ID, "the argument keeps its order")
			}
		})
	}
}

// An unstable sort changes the order of equal scores only if there are many of them.
func TestEvaluateKeepsTheOrderOfEqualScores(t *testing.T) {
	t.Parallel()
	var proposals []match.Proposal
	var ids []string
	for i := range 500 {
		ids = append(ids, fmt.Sprint(i))
		proposals = append(proposals, match.Proposal{ID: ids[i], Score: new(1.0)})
	}
	require.Equal(t, ids, match.Evaluate(proposals))
}

// For any proposals: nothing is used twice, each refused proposal collides with a better accepted one, and the best is
// accepted.
func TestEvaluateIsGreedy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.Ptr(rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 2, math.Inf(1), math.Inf(-1), math.NaN()}), rapid.Float64()), true)
		var proposals []match.Proposal
		for i := range rapid.IntRange(0, 12).Draw(t, "proposals") {
			proposals = append(proposals, match.Proposal{
				ID: fmt.Sprint(i), Score: scores.Draw(t, "score"),
				Tickets:  rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, 3).Draw(t, "tickets"),
				Backfill: rapid.SampledFrom([]string{"", "", "", "a", "x"}).Draw(t, "backfill"),
			})
		}
		ids := match.Evaluate(proposals)
		rank := map[string]int{}
		for i, id := range ids {
			_, twice := rank[id]
			require.False(t, twice)
			rank[id] = i
		}
		for i, p := range proposals {
			at, accepted := rank[p.ID]
			inTheWay := slices.ContainsFunc(proposals, func(o match.Proposal) bool {
				r, ok := rank[o.ID]
				collides := p.Backfill != "" && p.Backfill == o.Backfill ||
					slices.ContainsFunc(p.Tickets, func(id string) bool { return slices.Contains(o.Tickets, id) })
				return ok && o.ID != p.ID && collides && (!accepted || r < at) && !better(proposals, i, o)
			})
			require.Equal(t, !accepted, inTheWay, p.ID)
		}
	})
}

// better reports whether the proposal at i has a higher score than o, or an equal one and an earlier position.
func better(proposals []match.Proposal, i int, o match.Proposal) bool {
	a, b := rankable(proposals[i]), rankable(o)
	j := slices.IndexFunc(proposals, func(p match.Proposal) bool { return p.ID == o.ID })
	return a[0] > b[0] || a[0] == b[0] && (a[1] > b[1] || a[1] == b[1] && i < j)
}

// rankable returns a score as two numbers that can be compared without special cases.
func rankable(p match.Proposal) [2]float64 {
	switch {
	case p.Score == nil:
		return [2]float64{1, math.Inf(-1)}
	case math.IsNaN(*p.Score):
		return [2]float64{0, 0}
	}
	return [2]float64{1, *p.Score}
}

func BenchmarkEvaluate(b *testing.B) {
	proposals := make([]match.Proposal, 10_000)
	for i := range proposals {
		proposals[i] = match.Proposal{ID: fmt.Sprint(i), Score: new(float64(i % 97)), Tickets: []string{fmt.Sprint("t", i), fmt.Sprint("t", i+1)}}
	}
	for b.Loop() {
		match.Evaluate(proposals)
	}
}
