package baseline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

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
	seen, err := b.Session(t.Context(), p.SessionID)
	require.NoError(t, err)
	require.Equal(t, p, seen)
	for _, sub := range []string{"ann", "bob"} {
		r, err := b.Resolve(t.Context(), p.SessionHandle, sub)
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

// Pins seats on a draining instance, in its open sessions too.
func TestNaiveLetsNobodyOntoADrainingInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64, 0)
	b.place(request("ann"))
	_, err := b.SetDrain(t.Context(), db.InstanceRef{InstanceID: "a"}, true)
	require.NoError(t, err)
	_, err = b.Place(t.Context(), request("bob"))
	requireKind(t, fault.NoCapacity, err)
}

// Pins two seats for one player. In a retry storm, calls get the seat that do not run at the same time as the first
// one.
func TestNaiveSeatsAPlayerOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64, 0)
	_, errs := b.placeAll(slices.Repeat([]db.PlaceRequest{request("ann", "bob")}, 16))
	require.Contains(t, errs, nil)
	for _, err := range errs {
		if err != nil {
			requireKind(t, fault.NoCapacity, err)
		}
	}
	seat := b.place(request("ann", "bob"))
	require.Equal(t, seat, b.place(request("ann", "bob")))
	_, err := b.Place(t.Context(), request("ann"))
	requireKind(t, fault.Conflict, err)
	require.Equal(t, 2, b.db.Count("SELECT count(*) FROM seats"))
	b.requireInvariants()
}

// Pins more players than seats, and counters that drift, under concurrent calls.
func TestNaiveNeverExceedsCapacity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a", "b", "c"} {
		b.register(id, 20, 0) // two sessions of 8, and a rest
	}
	requests := strangers(128)
	placed := 0
	for crowd := range slices.Chunk(requests, 64) {
		_, errs := b.placeAll(crowd)
		for _, err := range errs {
			if err == nil {
				placed++
			} else {
				requireKind(t, fault.NoCapacity, err)
			}
		}
	}
	require.LessOrEqual(t, placed, 48)
	require.Equal(t, placed, b.db.Count("SELECT count(*) FROM seats"))
	b.requireInvariants()
}

// The product does better, and this is why it does not only skip locks. While another transaction has locked all rows
// with free seats, the naive placement answers "no capacity"; the product waits and places.
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
				b.place(request(fmt.Sprintf("p%d", i), party(i)...))
			}
			busy, err := b.Pool().Begin(t.Context())
			require.NoError(t, err)
			_, err = busy.Exec(t.Context(), c.hold)
			require.NoError(t, err)

			_, err = b.Place(t.Context(), request("hasty"))
			requireKind(t, fault.NoCapacity, err)
			product := make(chan error, 1)
			go func() { _, err := b.Store.Place(t.Context(), request("patient")); product <- err }()
			require.Eventually(t, func() bool {
				return b.db.Count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
			}, time.Minute, 5*time.Millisecond)
			require.NoError(t, busy.Rollback(t.Context()))
			require.NoError(t, <-product)
			b.place(request("hasty"))
			b.requireInvariants()
		})
	}
}

// party returns four players: more than half a session, so that no two parties share one.
func party(n int) []string {
	friends := make([]string, 4)
	for i := range friends {
		friends[i] = fmt.Sprintf("friend-%d-%d", n, i)
	}
	return friends
}
