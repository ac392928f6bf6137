package decide

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Pins stand-ins that were compared by their pointers: each rule then had a column of its own, and each candidate held
// the same values twice.
func TestRulesWithEqualStandInsShareAColumn(t *testing.T) {
	t.Parallel()
	number := func(x float64) *match.Value { return &match.Value{Kind: match.Number, Number: x} }
	list := func(all ...string) *match.Value { return &match.Value{Kind: match.List, List: all} }
	for name, c := range map[string]struct {
		a, b        *match.Value
		columnCount int
	}{
		"the same number": {number(1000), number(1000), 1},
		"two numbers":     {number(1000), number(1001), 2},
		"the same list":   {list("a", "b"), list("a", "b"), 1},
		"two lists":       {list("a", "b"), list("a"), 2},
		"one of them":     {number(1000), nil, 2},
		"another type":    {&match.Value{Kind: match.Text}, list(), 2},
	} {
		var columns []column
		for _, v := range []*match.Value{c.a, c.b} {
			addColumn(&columns, column{attribute: "a", missing: profile.Missing{Value: v}, onlyRole: anyRole})
		}
		require.Len(t, columns, c.columnCount, name)
	}
}

// Pins a count of no texts that shared the column of the attribute's numbers.
func TestCountsAndNumbersShareNoColumn(t *testing.T) {
	t.Parallel()
	var columns []column
	addColumn(&columns, column{attribute: "a", onlyRole: anyRole})
	addColumn(&columns, column{attribute: "a", onlyRole: anyRole, anyOf: []string{}})
	require.Len(t, columns, 2)
}
