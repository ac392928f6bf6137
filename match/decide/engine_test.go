package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

func TestTwoPlayersWithinTheWindowMeet(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1), nearSkill(100))
	require.Empty(t, decide(p, ticket("a", skill(1000)), ticket("b", skill(1101))))
	found := decide(p, ticket("a", skill(1000), waited(time.Second)), ticket("b", skill(1100)), ticket("c", skill(1050)))
	require.Len(t, found, 1)
	require.Equal(t, "a", found[0].Anchor)
	require.Equal(t, []string{"a", "c"}, found[0].Tickets, "the nearest comes first")
	require.Equal(t, []RuleValue{{ID: "near-skill", Value: 50, Limit: 100}}, found[0].Rules)
}

func TestWindowWidensAtTheExactMoment(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1), nearSkill(100, step(10*time.Second, profile.Limits{Within: 200}), step(30*time.Second, profile.Limits{Ended: true})))
	for _, c := range []struct {
		apart float64
		after time.Duration
	}{{150, 10 * time.Second}, {900, 30 * time.Second}} {
		e := New(Version{p, 1}, 1)
		e.Add(ticket("a", skill(1000)))
		e.Add(ticket("b", skill(1000+c.apart), func(b *match.Ticket) { b.Created = now.Add(time.Second) }))
		found, _ := e.Run(now.Add(c.after-1), 1000)
		require.Empty(t, found)
		at, ok := e.Next()
		require.True(t, ok)
		require.False(t, at.After(now.Add(c.after)))
		found, _ = e.Run(now.Add(c.after), 1000)
		require.Len(t, found, 1)
	}
}
