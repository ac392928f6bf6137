package match_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	free := func(id string) bool { return id != "gone" }
	backfills := map[string]int64{"f": 3, "g": 1}
	for name, c := range map[string]struct {
		claims   []match.Claim
		verdicts []match.Verdict
	}{
		"nothing":                               {nil, []match.Verdict{}},
		"a match without tickets":               {[]match.Claim{{}, {}}, []match.Verdict{match.Kept, match.Kept}},
		"a ticket twice in one match is fine":   {[]match.Claim{{Tickets: []string{"a", "a"}}}, []match.Verdict{match.Kept}},
		"one that misses a ticket":              {[]match.Claim{{Tickets: []string{"a", "gone"}}}, []match.Verdict{match.TicketGone}},
		"what is dropped takes nothing":         {[]match.Claim{{Tickets: []string{"a", "gone"}}, {Tickets: []string{"a"}}}, []match.Verdict{match.TicketGone, match.Kept}},
		"the first match has the ticket":        {[]match.Claim{{Tickets: []string{"a"}}, {Tickets: []string{"b", "a"}}}, []match.Verdict{match.Kept, match.TicketGone}},
		"a backfill that is not there":          {[]match.Claim{{Backfill: "x", Generation: 1}}, []match.Verdict{match.BackfillGone}},
		"a backfill that changed":               {[]match.Claim{{Backfill: "f", Generation: 2}}, []match.Verdict{match.BackfillChanged}},
		"a backfill takes one match":            {[]match.Claim{{Backfill: "f", Generation: 3}, {Backfill: "f", Generation: 3}}, []match.Verdict{match.Kept, match.BackfillChanged}},
		"a drop leaves the backfill to another": {[]match.Claim{{Tickets: []string{"gone"}, Backfill: "g", Generation: 1}, {Backfill: "g", Generation: 1}}, []match.Verdict{match.TicketGone, match.Kept}},
		"a backfill named like a ticket":        {[]match.Claim{{Tickets: []string{"f"}}, {Backfill: "f", Generation: 3}}, []match.Verdict{match.Kept, match.Kept}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.verdicts, match.Keep(c.claims, free, backfills))
		})
	}
}

// For any claims: no ticket or backfill is in two kept matches, and a match is kept exactly if its requirements are
// met.
func TestKeepKeepsMatchesWithMetRequirements(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.MapOf(rapid.StringMatching("[a-e]"), rapid.Bool()).Draw(t, "free")
		backfills := rapid.MapOf(rapid.StringMatching("[fg]"), rapid.Int64Range(1, 2)).Draw(t, "backfills")
		var claims []match.Claim
		for i := range rapid.IntRange(0, 10).Draw(t, "claims") {
			claims = append(claims, match.Claim{
				Tickets:    rapid.SliceOfN(rapid.StringMatching("[a-e]"), 0, 3).Draw(t, fmt.Sprint("tickets ", i)),
				Backfill:   rapid.SampledFrom([]string{"", "", "f", "g"}).Draw(t, fmt.Sprint("backfill ", i)),
				Generation: rapid.Int64Range(1, 2).Draw(t, fmt.Sprint("generation ", i)),
			})
		}
		taken, filled := map[string]bool{}, map[string]bool{}
		for i, v := range match.Keep(claims, func(id string) bool { return free[id] }, backfills) {
			c := claims[i]
			missing := slices.ContainsFunc(c.Tickets, func(id string) bool { return taken[id] || !free[id] })
			generation, there := backfills[c.Backfill]
			changed := c.Backfill != "" && (!there || generation != c.Generation || filled[c.Backfill])
			require.Equal(t, v == match.Kept, !missing && !changed, "%d: %v", i, v)
			if v != match.Kept {
				continue
			}
			for _, id := range c.Tickets {
				taken[id] = true
			}
			filled[c.Backfill] = true
		}
	})
}

func TestVerdictsHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i, v := range match.Verdicts() {
		require.Equal(t, match.Verdict(i), v)
		require.False(t, seen[v.String()])
		seen[v.String()] = true
	}
	require.Equal(t, "unknown", match.Verdict(len(seen)).String())
	require.Equal(t, "unknown", match.Verdict(-1).String())
}
