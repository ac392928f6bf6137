package db_test

import (
	"cmp"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// placeAll places all requests at once, spread over the stores, and returns their answers.
func placeAll(t *testing.T, stores []*db.Store, requests []db.PlaceRequest) ([]db.Placement, []error) {
	t.Helper()
	got, errs := make([]db.Placement, len(requests)), make([]error, len(requests))
	var wg sync.WaitGroup
	for i, w := range requests {
		wg.Go(func() { got[i], errs[i] = stores[i%len(stores)].Place(t.Context(), w) })
	}
	wg.Wait()
	return got, errs
}

// Pins false "no capacity" answers, which a plain SKIP LOCKED gives to most of 32 callers with 4 instances, and
// sessions that stay half empty because one replica opens a session while another fills one.
func TestReplicasPlaceExactlyAndPack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		b.AddServer(id, 32)
	}
	stores := []*db.Store{b.Store, b.Replica(), b.Replica()}
	var requests []db.PlaceRequest
	for _, sub := range subs(128) {
		requests = append(requests, request(sub, 8))
	}
	_, errs := placeAll(t, stores, requests)
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, int64(16), one[int64](b, "SELECT count(*) FROM sessions"), "128 players fill 16 sessions of 8")
	require.Equal(t, int64(128), one[int64](b, "SELECT sum(player_count) FROM sessions"))

	_, errs = placeAll(t, stores, []db.PlaceRequest{request("late-1", 8), request("late-2", 8), request("late-3", 8)})
	for _, err := range errs {
		requireKind(t, fault.NoCapacity, "no_capacity", err)
	}
	b.RequireInvariants()
}

// Only the fullest session is a candidate for one player. When it becomes full while the player waits for it, a second
// reading must find the other sessions before the call may be refused.
func TestSessionsBeyondTheCandidatesAreFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	full := b.place(request("ann", 8, "bob", "cid", "dan", "eve", "fay", "gus"))
	roomy := b.place(request("hal", 8, "ida"))
	require.NotEqual(t, full.SessionID, roomy.SessionID)
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM sessions WHERE id::text = right($1, 36) FOR NO KEY UPDATE",
		full.SessionID)
	require.NoError(t, err)

	placed := make(chan error, 1)
	var got db.Placement
	go func() {
		var err error
		got, err = b.Place(context.WithoutCancel(t.Context()), request("jon", 8))
		placed <- err
	}()
	b.AwaitBlocked(1)
	_, err = tx.Exec(t.Context(), "UPDATE sessions SET player_count = max_players WHERE id::text = right($1, 36)",
		full.SessionID)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-placed)
	require.Equal(t, roomy.SessionID, got.SessionID)
}

// Parties stay together, and none is refused while a session has free seats for it.
func TestPartiesAreSeatedTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 64)
	b.AddServer("b", 64)
	var requests []db.PlaceRequest
	players := subs(96)
	for i := 0; i < len(players); i += 3 {
		requests = append(requests, request(players[i], 8, players[i+1], players[i+2]))
	}
	got, errs := placeAll(t, []*db.Store{b.Store, b.Replica()}, requests)
	for i := range requests {
		require.NoError(t, errs[i])
		n := one[int64](b, "SELECT count(*) FROM seats WHERE session_id::text = right($1, 36) AND sub = ANY ($2)",
			got[i].SessionID, requests[i].Party)
		require.Equal(t, int64(3), n)
	}
	require.Equal(t, int64(16), one[int64](b, "SELECT count(*) FROM sessions"),
		"two parties of three in each session of eight")
	b.RequireInvariants()
}

func TestPlacementChoosesTheLeastLoaded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	load := func(l float64) func(*db.Registration) { return func(r *db.Registration) { r.Load = &l } }
	b.AddServer("busy", 100, load(0.9))
	b.AddServer("calm", 100, load(0.30))
	b.AddServer("calmer", 100, load(0.29))
	require.Equal(t, "calmer:7777", b.place(request("ann", 8)).Endpoint)
	now := 0.95
	_, err := b.Heartbeat(t.Context(), ref("calmer"), &now)
	require.NoError(t, err)
	require.Equal(t, "calm:7777", b.place(request("bob", 4)).Endpoint, "a heartbeat's load counts at once")
}

func TestPlacementSkipsInstancesThatCannotHost(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(b *bundle){
		"another region": func(b *bundle) { b.AddServer("a", 8, func(r *db.Registration) { r.Region = "us" }) },
		"another mode": func(b *bundle) {
			b.AddServer("a", 8,
				func(r *db.Registration) { r.Modes = []string{"race"} })
		},
		"too small": func(b *bundle) { b.AddServer("a", 7) },
		"draining": func(b *bundle) {
			b.AddServer("a", 8)
			_, err := b.SetDrain(b.t.Context(), ref("a"), true)
			require.NoError(b.t, err)
		},
		"lease expired": func(b *bundle) {
			b.AddServer("a", 8)
			b.EndAmnesty()
			b.ageHeartbeat("a", 16*time.Second)
		},
		"deregistered": func(b *bundle) {
			b.AddServer("a", 8)
			require.NoError(b.t, b.Deregister(b.t.Context(), ref("a")))
		},
		"no session slot": func(b *bundle) {
			one := 1
			b.AddServer("a", 100, func(r *db.Registration) { r.MaxSessions = &one })
			b.place(request("first", 4))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			spoil(b)
			_, err := b.Place(t.Context(), request("ann", 8))
			code := map[string]string{"another region": "region_unknown", "another mode": "mode_unknown"}[name]
			requireKind(t, fault.NoCapacity, cmp.Or(code, "no_capacity"), err)
		})
	}
}

// Sessions of a draining instance get no new players until draining ends.
func TestDrainedSessionsAreNotFilled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	p := b.place(request("ann", 8))
	_, err := b.SetDrain(t.Context(), ref("a"), true)
	require.NoError(t, err)
	_, err = b.Place(t.Context(), request("bob", 8))
	requireKind(t, fault.NoCapacity, "no_capacity", err)
	require.Equal(t, p.SessionID, b.place(request("ann", 8)).SessionID, "a player keeps a reserved seat")
	b.resolve(p, "ann")
	_, err = b.SetDrain(t.Context(), ref("a"), false)
	require.NoError(t, err)
	require.Equal(t, p.SessionID, b.place(request("bob", 8)).SessionID)
}

// An instance whose capacity is lowered below its reserved seats keeps its sessions, and opens no more.
func TestAnInstanceWithLoweredCapacityOpensNoSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 16)
	p := b.place(request("ann", 8))
	got := b.AddServer("a", 4)
	require.Zero(t, got.Available)
	require.Equal(t, p.SessionID, b.place(request("bob", 8)).SessionID, "the open session is still filled")
	_, err := b.Place(t.Context(), request("cid", 4))
	requireKind(t, fault.NoCapacity, "no_capacity", err)
	b.RequireInvariants()
}

// A retry storm: the same player sends 40 requests at once to three replicas, and gets one seat.
func TestRetryStormsGetOneSeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 64)
	var requests []db.PlaceRequest
	for range 40 {
		requests = append(requests, request("ann", 8, "bob"))
	}
	got, errs := placeAll(t, []*db.Store{b.Store, b.Replica(), b.Replica()}, requests)
	for i := range got {
		require.NoError(t, errs[i])
		require.Equal(t, got[0].SessionHandle, got[i].SessionHandle)
	}
	require.Equal(t, int64(2), one[int64](b, "SELECT count(*) FROM seats"))
	b.RequireInvariants()
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 64)
	r := request("ann", 8)
	r.IdempotencyKey, r.RequestHash = "k1", []byte("body one")
	first := b.place(r)
	b.connect("a", first, "ann")
	b.report(db.SeatReport{InstanceRef: ref("a"), SessionID: first.SessionID, LeftPlayers: gone("ann")})
	require.Equal(t, first, b.place(r), "the stored answer, although the session is closed")
	other := r
	other.RequestHash = []byte("body two")
	_, err := b.Place(t.Context(), other)
	requireKind(t, fault.Mismatch, "idempotency_mismatch", err)
	bob := request("bob", 8)
	bob.IdempotencyKey, bob.RequestHash = "k1", []byte("body two")
	require.NotEqual(t, first.SessionID, b.place(bob).SessionID, "a key belongs to its caller")

	none := request("cid", 99)
	none.IdempotencyKey, none.RequestHash = "k2", []byte("x")
	_, err = b.Place(t.Context(), none)
	requireKind(t, fault.NoCapacity, "no_capacity", err)
	b.AddServer("big", 99)
	require.NotEmpty(t, b.place(none).SessionID, "a refusal is not stored")
}

// A request with other parameters gives up the unused seat and gets another, in one transaction: when only one session
// fits, the emptied one is closed first. When there is no other seat, the old one stays.
func TestAChangedRequestGivesTheSeatUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 8)
	old := b.place(request("ann", 8))
	fresh := b.place(request("ann", 4))
	require.NotEqual(t, old.SessionID, fresh.SessionID)
	_, err := b.Session(t.Context(), old.SessionID)
	requireKind(t, fault.Gone, "session_closed", err)
	_, err = b.Place(t.Context(), request("ann", 16))
	requireKind(t, fault.NoCapacity, "no_capacity", err)
	require.Equal(t, fresh.SessionID, b.place(request("ann", 4)).SessionID, "the seat is kept when there is no other")
	b.RequireInvariants()
}

// A session that is empty after a seat was given up must close, even when the new seat is in an open session.
func TestGivenUpSessionClosesWhenEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 64)
	b.place(request("bob", 4))
	old := b.place(request("ann", 8))
	fresh := b.place(request("ann", 4))
	require.Equal(t, 2, fresh.PlayerCount)
	_, err := b.Session(t.Context(), old.SessionID)
	requireKind(t, fault.Gone, "session_closed", err)
	b.RequireInvariants()
}

func TestSeatsReservedByOtherCallers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 64)
	eve := b.place(request("eve", 8, "ann"))
	mine := b.place(request("ann", 4))
	require.NotEqual(t, eve.SessionID, mine.SessionID, "a reservation by another caller does not bind ann")
	_, err := b.Resolve(t.Context(), eve.SessionHandle, "ann")
	requireKind(t, fault.Forbidden, "no_seat", err)
	_, err = b.Place(t.Context(), request("eve", 8, "ann"))
	requireKind(t, fault.Conflict, "party_conflict", err)
	b.resolve(mine, "ann")
	b.RequireInvariants()
}

func TestReservedSeatsOfACallerAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.MaxReserved = 4 })
	b.AddServer("a", 64, func(r *db.Registration) { r.Modes = []string{"duel", "race"} })
	b.place(request("eve", 8, "p1", "p2"))
	more := request("eve", 8, "p3")
	more.Mode = "race"
	_, err := b.Place(t.Context(), more)
	requireKind(t, fault.TooMany, "too_many_reserved", err)
}

func TestRejoin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 64)
	p := b.place(request("ann", 8))
	b.connect("a", p, "ann")
	again := b.place(request("ann", 8))
	require.Equal(t, p.SessionHandle, again.SessionHandle)
	pair := b.place(request("ann", 8, "bob"))
	require.NotEqual(t, p.SessionID, pair.SessionID, "a party gets a session in which no member plays")
	b.RequireInvariants()
}

// A caller that leaves, or a request that Postgres rejects, must not fail the others of its batch.
func TestOneBadCallDoesNotFailItsBatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 1024)
	var requests []db.PlaceRequest
	for i, sub := range subs(40) {
		w := request(sub, 8)
		if i%10 == 3 {
			w.Caller = "bad\x00sub" // Postgres rejects it; servers validate it before
			w.Party = []string{w.Caller}
		}
		requests = append(requests, w)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Place(gone, request("gone", 8))
	requireKind(t, fault.Unavailable, "unavailable", err)

	_, errs := placeAll(t, []*db.Store{b.Store}, requests)
	for i, err := range errs {
		if i%10 == 3 {
			require.Error(t, err)
			require.False(t, fault.Is(err, fault.Unavailable), "a retry would not help")
		} else {
			require.NoError(t, err)
		}
	}
	b.RequireInvariants()
}
