package baseline_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

// bundle is a test's own database, with the naive placement and the product's on it.
type bundle struct {
	naive baseline.Naive
	db    *storetest.DB
	t     *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	d := storetest.New(t)
	return &bundle{baseline.Naive{Store: d.Store}, d, t}
}

func (b *bundle) register(id string, capacity int, load float64) {
	b.t.Helper()
	b.db.AddServer(id, capacity, func(r *db.Registration) { r.Modes, r.Load = []string{"duel", "race"}, &load })
}

func request(caller string, friends ...string) db.PlaceRequest {
	return db.PlaceRequest{Caller: caller, Region: "eu", Mode: "duel", Party: append([]string{caller}, friends...),
		MaxPlayers: 8}
}

func (b *bundle) place(r db.PlaceRequest) db.Placement {
	b.t.Helper()
	return must.Get(b.naive.Place(b.t.Context(), r))(b.t)
}

// requireInvariants asserts all invariants of placement.
func (b *bundle) requireInvariants() {
	b.t.Helper()
	b.db.RequireInvariants()
	require.Zero(b.t, b.db.Count(`SELECT count(*) FROM instance_modes m JOIN instances i ON i.region = m.region AND i.id = m.instance_id
		WHERE m.share_bucket <> share_bucket(i)`), "instances in the wrong bucket")
	require.Zero(b.t, b.db.Count(`SELECT count(*) FROM sessions s FULL JOIN events e ON e.session_id = s.id AND e.kind = 'session.opened'
		WHERE e.kind IS NULL OR s.id IS NULL AND e.kind = 'session.opened'`), "sessions without their event")
}

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
	require.Equal(t, p, must.Get(b.naive.Session(t.Context(), p.SessionID))(t))
	for _, sub := range []string{"ann", "bob"} {
		require.Equal(t, p.Endpoint, must.Get(b.naive.Resolve(t.Context(), p.SessionHandle, sub))(t).Endpoint)
	}
	b.requireInvariants()
}

// Pins a baseline that is fast because it decides by other rules than the product's.
func TestNaiveKeepsTheRule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("busy", 64, 0.9)
	b.register("calm", 64, 0.2)
	// parties of more than half a session, so that no two share one
	five := b.place(request("ann", "a1", "a2", "a3", "a4"))
	require.Equal(t, "calm:7777", five.Endpoint, "the least loaded")
	four := b.place(request("bob", "b1", "b2", "b3"))
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
	var placed atomic.Int64
	for crowd := range 2 {
		require.NoError(t, bench.Concurrently(t.Context(), 64, 0, func(ctx context.Context, i int) error {
			_, err := b.naive.Place(ctx, request(fmt.Sprintf("player-%d-%d", crowd, i)))
			if err == nil {
				placed.Add(1)
			}
			if fault.Is(err, fault.NoCapacity) {
				return nil
			}
			return err
		}))
	}
	require.LessOrEqual(t, placed.Load(), int64(48))
	require.EqualValues(t, placed.Load(), b.db.Count("SELECT count(*) FROM seats"))
	b.requireInvariants()
}
