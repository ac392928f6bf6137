package baseline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins a baseline that hands out what the rest of the product does not know.
func TestNaiveSeatsAreSeats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64, 0)
	p := b.place(wish("ann", "bob"))
	require.Equal(t, db.Placement{
		SessionID: p.SessionID, SessionHandle: p.SessionHandle, Endpoint: "a:7777", Region: "eu", Mode: "duel", PlayerCount: 2, MaxPlayers: 8,
	}, p)
	seen, err := b.Session(t.Context(), p.SessionID)
	require.NoError(t, err)
	require.Equal(t, p, seen)
	for _, sub := range []string{"ann", "bob"} {
		r, err := b.Resolve(t.Context(), p.SessionHandle, sub)
		require.NoError(t, err)
		require.Equal(t, p.Endpoint, r.Endpoint)
	}
	b.requireSound()
}

// Pins a baseline that is quick because it decides something else: the rule is the product's.
func TestNaiveKeepsTheRule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("busy", 64, 0.9)
	b.register("calm", 64, 0.2)
	five := b.place(wish("ann", party(1)...))
	require.Equal(t, "calm:7777", five.Endpoint, "the least loaded")
	four := b.place(wish("bob", party(2)[:3]...))
	require.NotEqual(t, five.SessionID, four.SessionID, "it does not fit the open one")
	single := b.place(wish("cid"))
	require.Equal(t, five.SessionID, single.SessionID, "the fullest first")
	require.Equal(t, 6, single.PlayerCount)
	race := wish("dan")
	race.Mode = "race"
	require.NotEqual(t, five.SessionID, b.place(race).SessionID, "another mode")
	small := wish("eve")
	small.MaxPlayers = 4
	require.NotEqual(t, five.SessionID, b.place(small).SessionID, "another size")
	b.requireSound()
}

// Pins seats on an instance that drains, in its open sessions too.
func TestNaiveLetsNobodyOntoADrainingInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64, 0)
	b.place(wish("ann"))
	_, err := b.SetDrain(t.Context(), db.InstanceRef{InstanceID: "a"}, true)
	require.NoError(t, err)
	_, err = b.Place(t.Context(), wish("bob"))
	requireKind(t, db.NoCapacity, err)
}

// Pins two seats for one player. Of a retry storm those get the seat who do not meet the first one at its work.
func TestNaiveSeatsAPlayerOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64, 0)
	_, errs := b.placeAll(slices.Repeat([]db.PlaceRequest{wish("ann", "bob")}, 16))
	require.Contains(t, errs, nil)
	for _, err := range errs {
		if err != nil {
			requireKind(t, db.NoCapacity, err)
		}
	}
	seat := b.place(wish("ann", "bob"))
	require.Equal(t, seat, b.place(wish("ann", "bob")))
	_, err := b.Place(t.Context(), wish("ann"))
	requireKind(t, db.Conflict, err)
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM seats"))
	b.requireSound()
}

// Pins more players than there are seats, and counters that drift, when many call at once.
func TestNaiveNeverExceedsCapacity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a", "b", "c"} {
		b.register(id, 20, 0) // two sessions of 8, and a rest
	}
	wishes := strangers(128)
	placed := 0
	for crowd := range slices.Chunk(wishes, 64) {
		_, errs := b.placeAll(crowd)
		for _, err := range errs {
			if err == nil {
				placed++
			} else {
				requireKind(t, db.NoCapacity, err)
			}
		}
	}
	require.LessOrEqual(t, placed, 48)
	require.Equal(t, placed, one[int](b, "SELECT count(*) FROM seats"))
	b.requireSound()
}

// This is what the product does better, and why it does not skip locks and leave it there. Somebody holds all that has
// room, for a moment: naive says that there is no capacity, the product waits and places.
func TestNaiveSaysNoCapacityWhereThereIsSome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		players int // who have a session each already
		hold    string
	}{
		"instances": {0, "SELECT FROM instances ORDER BY id FOR NO KEY UPDATE"},
		"sessions":  {4, "SELECT FROM sessions ORDER BY id FOR NO KEY UPDATE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			for _, id := range []string{"a", "b", "c", "d"} {
				b.register(id, 8, 0) // room for one session
			}
			for i := range c.players {
				b.place(wish(fmt.Sprintf("p%d", i), party(i)...))
			}
			busy, err := b.Pool().Begin(t.Context())
			require.NoError(t, err)
			_, err = busy.Exec(t.Context(), c.hold)
			require.NoError(t, err)

			_, err = b.Place(t.Context(), wish("hasty"))
			requireKind(t, db.NoCapacity, err)
			product := make(chan error, 1)
			go func() { _, err := b.Store.Place(t.Context(), wish("patient")); product <- err }()
			require.Eventually(t, func() bool {
				return one[int](b, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
			}, time.Minute, 5*time.Millisecond)
			require.NoError(t, busy.Rollback(t.Context()))
			require.NoError(t, <-product)
			b.place(wish("hasty"))
			b.requireSound()
		})
	}
}

// party is four friends: with whom they come along they fill more than half a session, so that no two share one.
func party(n int) []string {
	friends := make([]string, 4)
	for i := range friends {
		friends[i] = fmt.Sprintf("friend-%d-%d", n, i)
	}
	return friends
}
