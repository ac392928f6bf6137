package loop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins a loop that sent every waiting match, each second, to the one server that had room for one of them.
func TestNoMoreMatchesAreSentThanFit(t *testing.T) {
	t.Parallel()
	h := hosts{
		largestFree: map[string]map[string]int{"eu": {"arena": 3}, "us": {"arena": 10}},
		freeSeats:   budget{{"eu", "arena"}: 5, {"us", "arena"}: 10},
	}
	waits := func(size int, regions ...string) *job {
		return &job{match: db.NewMatch{Size: size, Regions: regions, Modes: []string{"arena"}}}
	}
	require.True(t, h.freeSeats.takeSeats(h, waits(2, "eu")))
	require.True(t, h.freeSeats.takeSeats(h, waits(2, "eu")))
	require.False(t, h.freeSeats.takeSeats(h, waits(2, "eu")), "one seat is left")
	elsewhere := waits(4, "eu", "us")
	require.True(t, h.freeSeats.takeSeats(h, elsewhere))
	require.Equal(t, 1, elsewhere.regionIndex, "no server of the first region has four seats")
	require.False(t, h.freeSeats.takeSeats(h, waits(11, "us")))
}
