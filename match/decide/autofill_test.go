package decide_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// Pins a ticket that keeps the roles it had when it was added, so that only a restarted worker makes its match.
func TestARunningEngineFillsRolesInTime(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse([]byte("name: a\nteams: [{name: all, players: 2, roles: {tank: 1, healer: 1}}]\nautofill: 60s\n"))
	require.NoError(t, err)
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := decide.New(decide.Version{Profile: p, Number: 1}, 1)
	for i, id := range []string{"old", "new"} {
		tank := match.Attributes{"role": {Kind: match.Text, Text: "tank"}}
		e.Add(&match.Ticket{
			ID: id, Created: begin.Add(time.Duration(i) * time.Second), Profiles: []string{"a"},
			Players: []match.Player{{Sub: id, Attributes: tank}},
		})
	}
	found, _ := e.Run(begin.Add(time.Minute-1), math.MaxInt)
	require.Empty(t, found)
	next, ok := e.Next()
	require.True(t, ok)
	require.Equal(t, begin.Add(time.Minute), next)
	found, _ = e.Run(next, math.MaxInt)
	require.Len(t, found, 1)
	for _, seat := range found[0].Teams[0].Seats {
		require.Equal(t, map[string]string{"old": "healer", "new": "tank"}[seat.Sub], seat.Role)
	}
}
