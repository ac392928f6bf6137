package baseline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Pins a baseline whose ids and handles the rest of the product does not accept.
func TestNaiveSeatsAreSeats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64, 0)
	p := b.place(request("ann", "bob"))
	require.Equal(t, db.Placement{
		SessionID: p.SessionID, SessionHandle: p.SessionHandle, Endpoint: "a:7777", Region: "eu", Mode: "duel",
		PlayerCount: 2, MaxPlayers: 8,
	}, p)
	seen, err := b.naive.Session(t.Context(), p.SessionID)
	require.NoError(t, err)
	require.Equal(t, p, seen)
	for _, sub := range []string{"ann", "bob"} {
		r, err := b.naive.Resolve(t.Context(), p.SessionHandle, sub)
		require.NoError(t, err)
		require.Equal(t, p.Endpoint, r.Endpoint)
	}
	b.requireInvariants()
}

// Pins a baseline that is fast because it decides by other rules than the product's.
func TestNaiveKeepsTheRule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("busy", 64, 0.9)
	b.register("calm", 64, 0.2)
	five := b.place(request("ann", party(1)...))
	require.Equal(t, "calm:7777", five.Endpoint, "the least loaded")
	four := b.place(request("bob", party(2)[:3]...))
	require.NotEqual(t, five.SessionID, four.SessionID, "it does not fit the open one")
	single := b.place(request("cid"))
	require.Equal(t, five.SessionID, single.SessionID, "the fullest first")
	require.Equal(t, 6, single.PlayerCount)
	race := request("dan")
	race.Mode = "race"
	require.NotEqual(t, five.SessionID, b.place(race).SessionID, "another mode")
	small := request("eve")
	small.MaxPlayers = 4
	require.NotEqual(t, five.SessionID, b.place(small).SessionID, "another size")
	b.requireInvariants()
}

// Pins more players than seats, and counters that drift, under concurrent calls.
func TestNaiveNeverExceedsCapacity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a", "b", "c"} {
		b.register(id, 20, 0) // two sessions of 8, and a rest
	}
	placed := 0
	for crowd := range 2 {
		for _, err := range b.placeStrangers(crowd, 64) {
			if err == nil {
				placed++
				continue
			}
			require.True(t, fault.Is(err, fault.NoCapacity), "%v", err)
		}
	}
	require.LessOrEqual(t, placed, 48)
	require.Equal(t, placed, b.db.Count("SELECT count(*) FROM seats"))
	b.requireInvariants()
}

// party returns four players: more than half a session, so that no two parties share one.
func party(n int) []string {
	friends := make([]string, 4)
	for i := range friends {
		friends[i] = fmt.Sprintf("friend-%d-%d", n, i)
	}
	return friends
}
