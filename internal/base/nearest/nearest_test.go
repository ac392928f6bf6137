package nearest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"duel", "duel", 0}, {"", "duel", 4}, {"duel", "", 4}, {"dule", "duel", 2}, {"duels", "duel", 1},
		{"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		require.Equal(t, c.want, editDistance(c.a, c.b), "%s %s", c.a, c.b)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	known := []string{"race", "DUEL", "dual"}
	require.Equal(t, "DUEL", Name("DUELS", known, 1))
	require.Empty(t, Name("DUELSS", known, 1), "farther away than the limit")
	require.Equal(t, "dual", Name("duel", known, 3), "upper and lower case differ")
	require.Equal(t, "DUEL", NameFold("duel", known, 3))
	require.Equal(t, "duet", Name("dues", []string{"duet", "duel"}, 1), "the first of equals")
	require.Empty(t, Name("duel", nil, 9))
}
