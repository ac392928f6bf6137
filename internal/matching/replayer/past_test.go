package replayer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
)

// Pins a seed of other rules that replaces that of the same rules, because that is 0.
func TestSeedOf(t *testing.T) {
	t.Parallel()
	same := map[int]bool{2: true, 4: true}
	for _, c := range []struct {
		versions []query.ReplayVersionsRow // most matches first
		want     uint64
	}{
		{nil, 0},
		{[]query.ReplayVersionsRow{{Version: 1, Seed: 7}, {Version: 2, Seed: 0}, {Version: 3, Seed: 9}}, 0},
		{[]query.ReplayVersionsRow{{Version: 1, Seed: 7}, {Version: 4, Seed: 5}, {Version: 2, Seed: 0}}, 5},
		{[]query.ReplayVersionsRow{{Version: 1, Seed: 7}, {Version: 3, Seed: 9}}, 7},
	} {
		require.Equal(t, c.want, seedOf(c.versions, same), "%+v", c.versions)
	}
}
