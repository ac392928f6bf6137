package db_test

import (
	"cmp"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// placeAll places every request at once, spread over the stores, and returns what each got.
func placeAll(t *testing.T, stores []*db.Store, wishes []db.PlaceRequest) ([]db.Placement, []error) {
	t.Helper()
	got, errs := make([]db.Placement, len(wishes)), make([]error, len(wishes))
	var wg sync.WaitGroup
	for i, w := range wishes {
		wg.Go(func() { got[i], errs[i] = stores[i%len(stores)].Place(t.Context(), w) })
	}
	wg.Wait()
	return got, errs
}

// 32 callers and 4 instances make a plain SKIP LOCKED answer "no capacity" to most; and one replica opens a session
// while another fills, so that sessions stay half empty. Neither may happen.
func TestReplicasPlaceExactlyAndPack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		b.register(id, 32)
	}
	stores := []*db.Store{b.Store, b.replica(), b.replica()}
	var wishes []db.PlaceRequest
	for _, sub := range subs(128) {
		wishes = append(wishes, wish(sub, 8))
	}
	_, errs := placeAll(t, stores, wishes)
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, int64(16), one[int64](b, "SELECT count(*) FROM sessions"), "128 players fill 16 sessions of 8")
	require.Equal(t, int64(128), one[int64](b, "SELECT sum(player_count) FROM sessions"))

	_, errs = placeAll(t, stores, []db.PlaceRequest{wish("late-1", 8), wish("late-2", 8), wish("late-3", 8)})
	for _, err := range errs {
		requireKind(t, db.NoCapacity, "no_capacity", err)
	}
	b.requireSound()
}

// Only the fullest session is a candidate for one player. When it fills up while he waits for it, the others still have
// room: a fresh look must find them before anybody is told that there is none.
func TestRoomBeyondTheCandidatesIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 16)
	full := b.place(wish("ann", 8, "bob", "cid", "dan", "eve", "fay", "gus"))
	roomy := b.place(wish("hal", 8, "ida"))
	require.NotEqual(t, full.SessionID, roomy.SessionID)
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM sessions WHERE id::text = right($1, 36) FOR NO KEY UPDATE", full.SessionID)
	require.NoError(t, err)

	placed := make(chan error, 1)
	var got db.Placement
	go func() {
		var err error
		got, err = b.Place(context.WithoutCancel(t.Context()), wish("jon", 8))
		placed <- err
	}()
	b.eventuallyBlocked(1)
	_, err = tx.Exec(t.Context(), "UPDATE sessions SET player_count = max_players WHERE id::text = right($1, 36)", full.SessionID)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-placed)
	require.Equal(t, roomy.SessionID, got.SessionID)
}

// Parties stay whole, whatever their sizes; nobody is refused while there is room for him.
func TestPartiesAreSeatedTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64)
	b.register("b", 64)
	var wishes []db.PlaceRequest
	players := subs(96)
	for i := 0; i < len(players); i += 3 {
		wishes = append(wishes, wish(players[i], 8, players[i+1], players[i+2]))
	}
	got, errs := placeAll(t, []*db.Store{b.Store, b.replica()}, wishes)
	for i := range wishes {
		require.NoError(t, errs[i])
		n := one[int64](b, "SELECT count(*) FROM seats WHERE session_id::text = right($1, 36) AND sub = ANY ($2)", got[i].SessionID, wishes[i].Party)
		require.Equal(t, int64(3), n)
	}
	require.Equal(t, int64(16), one[int64](b, "SELECT count(*) FROM sessions"), "two parties of three in each session of eight")
	b.requireSound()
}

func TestPlacementChoosesTheLeastLoaded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	load := func(l float64) func(*db.Registration) { return func(r *db.Registration) { r.Load = &l } }
	b.register("busy", 100, load(0.9))
	b.register("calm", 100, load(0.30))
	b.register("calmer", 100, load(0.29))
	require.Equal(t, "calmer:7777", b.place(wish("ann", 8)).Endpoint)
	now := 0.95
	_, err := b.Heartbeat(t.Context(), ref("calmer"), &now)
	require.NoError(t, err)
	require.Equal(t, "calm:7777", b.place(wish("bob", 4)).Endpoint, "a heartbeat's load counts at once")
}

func TestPlacementSkipsWhoCannotHost(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(b *bundle){
		"another region": func(b *bundle) { b.register("a", 8, func(r *db.Registration) { r.Region = "us" }) },
		"another mode":   func(b *bundle) { b.register("a", 8, func(r *db.Registration) { r.Modes = []string{"race"} }) },
		"too small":      func(b *bundle) { b.register("a", 7) },
		"draining": func(b *bundle) {
			b.register("a", 8)
			_, err := b.SetDrain(b.t.Context(), ref("a"), true)
			require.NoError(b.t, err)
		},
		"lease past": func(b *bundle) {
			b.register("a", 8)
			b.steady()
			b.silence("a", 16*time.Second)
		},
		"deregistered": func(b *bundle) {
			b.register("a", 8)
			require.NoError(b.t, b.Deregister(b.t.Context(), ref("a")))
		},
		"no session slot": func(b *bundle) {
			one := 1
			b.register("a", 100, func(r *db.Registration) { r.MaxSessions = &one })
			b.place(wish("first", 4))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			spoil(b)
			_, err := b.Place(t.Context(), wish("ann", 8))
			code := map[string]string{"another region": "region_unknown", "another mode": "mode_unknown"}[name]
			requireKind(t, db.NoCapacity, cmp.Or(code, "no_capacity"), err)
		})
	}
}

// A draining instance's sessions get no new players either, and a drain that ends lets them in again.
func TestDrainedSessionsAreNotFilled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 8)
	p := b.place(wish("ann", 8))
	_, err := b.SetDrain(t.Context(), ref("a"), true)
	require.NoError(t, err)
	_, err = b.Place(t.Context(), wish("bob", 8))
	requireKind(t, db.NoCapacity, "no_capacity", err)
	require.Equal(t, p.SessionID, b.place(wish("ann", 8)).SessionID, "who has a seat keeps it")
	b.resolve(p, "ann")
	_, err = b.SetDrain(t.Context(), ref("a"), false)
	require.NoError(t, err)
	require.Equal(t, p.SessionID, b.place(wish("bob", 8)).SessionID)
}

// Lowering the capacity closes nothing and opens nothing.
func TestShrunkInstanceOpensNoSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 16)
	p := b.place(wish("ann", 8))
	got := b.register("a", 4)
	require.Zero(t, got.Available)
	require.Equal(t, p.SessionID, b.place(wish("bob", 8)).SessionID, "the open session is filled still")
	_, err := b.Place(t.Context(), wish("cid", 4))
	requireKind(t, db.NoCapacity, "no_capacity", err)
	b.requireSound()
}

// A retry storm: the same player asks 40 times at once over three replicas and gets one seat.
func TestRetryStormsGetOneSeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64)
	var wishes []db.PlaceRequest
	for range 40 {
		wishes = append(wishes, wish("ann", 8, "bob"))
	}
	got, errs := placeAll(t, []*db.Store{b.Store, b.replica(), b.replica()}, wishes)
	for i := range got {
		require.NoError(t, errs[i])
		require.Equal(t, got[0].SessionHandle, got[i].SessionHandle)
	}
	require.Equal(t, int64(2), one[int64](b, "SELECT count(*) FROM seats"))
	b.requireSound()
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64)
	r := wish("ann", 8)
	r.IdempotencyKey, r.RequestHash = "k1", []byte("body one")
	first := b.place(r)
	b.connect("a", first, "ann")
	b.report(db.SeatReport{Ref: ref("a"), SessionID: first.SessionID, Left: gone("ann")})
	require.Equal(t, first, b.place(r), "the stored answer, though the session is long closed")
	other := r
	other.RequestHash = []byte("body two")
	_, err := b.Place(t.Context(), other)
	requireKind(t, db.Mismatch, "idempotency_mismatch", err)
	bob := wish("bob", 8)
	bob.IdempotencyKey, bob.RequestHash = "k1", []byte("body two")
	require.NotEqual(t, first.SessionID, b.place(bob).SessionID, "a key is its caller's")

	none := wish("cid", 99)
	none.IdempotencyKey, none.RequestHash = "k2", []byte("x")
	_, err = b.Place(t.Context(), none)
	requireKind(t, db.NoCapacity, "no_capacity", err)
	b.register("big", 99)
	require.NotEmpty(t, b.place(none).SessionID, "a refusal is not stored")
}

// Other parameters give the unused seat up and place anew, in one transaction: with room for one session only, the
// emptied one makes room; with none to get, the old seat stays.
func TestChangedMindGivesTheSeatUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 8)
	old := b.place(wish("ann", 8))
	fresh := b.place(wish("ann", 4))
	require.NotEqual(t, old.SessionID, fresh.SessionID)
	_, err := b.Session(t.Context(), old.SessionID)
	requireKind(t, db.Gone, "session_closed", err)
	_, err = b.Place(t.Context(), wish("ann", 16))
	requireKind(t, db.NoCapacity, "no_capacity", err)
	require.Equal(t, fresh.SessionID, b.place(wish("ann", 4)).SessionID, "a seat is not given up for nothing")
	b.requireSound()
}

// A give-up that empties one session must close it also when the new seat is in a session that was open already.
func TestGivenUpSessionClosesWhenEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64)
	b.place(wish("bob", 4))
	old := b.place(wish("ann", 8))
	fresh := b.place(wish("ann", 4))
	require.Equal(t, 2, fresh.PlayerCount)
	_, err := b.Session(t.Context(), old.SessionID)
	requireKind(t, db.Gone, "session_closed", err)
	b.requireSound()
}

func TestSeatsOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64)
	eve := b.place(wish("eve", 8, "ann"))
	mine := b.place(wish("ann", 4))
	require.NotEqual(t, eve.SessionID, mine.SessionID, "a stranger's reservation does not hold ann")
	_, err := b.Resolve(t.Context(), eve.SessionHandle, "ann")
	requireKind(t, db.Forbidden, "no_seat", err)
	_, err = b.Place(t.Context(), wish("eve", 8, "ann"))
	requireKind(t, db.Conflict, "party_conflict", err)
	b.resolve(mine, "ann")
	b.requireSound()
}

func TestReservedPlayersAreCapped(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.MaxReserved = 4 })
	b.register("a", 64, func(r *db.Registration) { r.Modes = []string{"duel", "race"} })
	b.place(wish("eve", 8, "p1", "p2"))
	more := wish("eve", 8, "p3")
	more.Mode = "race"
	_, err := b.Place(t.Context(), more)
	requireKind(t, db.TooMany, "too_many_reserved", err)
}

func TestRejoin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 64)
	p := b.place(wish("ann", 8))
	b.connect("a", p, "ann")
	again := b.place(wish("ann", 8))
	require.Equal(t, p.SessionHandle, again.SessionHandle)
	pair := b.place(wish("ann", 8, "bob"))
	require.NotEqual(t, p.SessionID, pair.SessionID, "a party sits together, and not where a member plays already")
	b.requireSound()
}

// A caller that leaves, or a request that Postgres refuses, must not take its flight down.
func TestOneBadMemberHurtsNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a", 1024)
	var wishes []db.PlaceRequest
	for i, sub := range subs(40) {
		w := wish(sub, 8)
		if i%10 == 3 {
			w.Caller = "bad\x00sub" // what validation keeps out: Postgres refuses it
			w.Party = []string{w.Caller}
		}
		wishes = append(wishes, w)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Place(gone, wish("gone", 8))
	requireKind(t, db.Unavailable, "unavailable", err)

	_, errs := placeAll(t, []*db.Store{b.Store}, wishes)
	for i, err := range errs {
		if i%10 == 3 {
			require.Error(t, err)
			require.False(t, db.IsKind(err, db.Unavailable), "its own fault: retrying helps nobody")
		} else {
			require.NoError(t, err)
		}
	}
	b.requireSound()
}
