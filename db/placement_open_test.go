package db

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// smallFleet opens a store on a database of its own, in which instances of a capacity offer the mode duel.
func smallFleet(t *testing.T, capacity int, instances ...string) *Store {
	t.Helper()
	return observedFleet(t, nil, capacity, instances...)
}

func observedFleet(t *testing.T, observer GroupObserver, capacity int, instances ...string) *Store {
	t.Helper()
	s := openStore(t, Config{URL: dbtest.New(t), BatchTimeout: time.Minute, HoldTimeout: 2 * time.Minute, Observer: observer})
	for _, id := range instances {
		must.Get(s.Register(t.Context(), Registration{InstanceID: id, Endpoint: id + ":7777", Region: "eu", Modes: []string{"duel"}, Capacity: capacity}))(t)
	}
	return s
}

func duelFor(maxPlayers int, party ...string) PlaceRequest {
	return PlaceRequest{Caller: party[0], Region: "eu", Mode: "duel", Party: party, MaxPlayers: maxPlayers}
}

func (s *Store) mustPlace(t *testing.T, r PlaceRequest) Placement {
	t.Helper()
	return must.Get(s.Place(t.Context(), r))(t)
}

// begin begins a transaction on a connection of its own, and runs a statement in it.
func begin(t *testing.T, s *Store, sql string, args ...any) pgx.Tx {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), s.cfg.URL))(t)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	tx := must.Get(conn.Begin(t.Context()))(t)
	must.Get(tx.Exec(t.Context(), sql, args...))(t)
	return tx
}

// waitBlocked waits until n connections wait for locks of other connections.
func waitBlocked(t *testing.T, s *Store, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		err := s.pool.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'").Scan(&waiting)
		return err == nil && waiting == n
	}, 30*time.Second, 5*time.Millisecond)
}

func callsOf[Req, Res any](t *testing.T, reqs ...Req) []*batch.Call[Req, Res] {
	t.Helper()
	calls := make([]*batch.Call[Req, Res], len(reqs))
	for i, r := range reqs {
		calls[i] = batch.NewCall[Req, Res](t.Context(), r)
	}
	return calls
}

func errorOf[Req, Res any](c *batch.Call[Req, Res]) error {
	_, err := c.Result()
	return err
}

func resultOf[Req, Res any](c *batch.Call[Req, Res]) Res {
	res, _ := c.Result()
	return res
}

// Pins a session in which a member of one party plays, and which was skipped for all other parties of the batch.
func TestASessionThatOnePartyMayNotJoinIsFilledByOthers(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 16, "a")
	anns := s.mustPlace(t, duelFor(8, "p1", "p2", "p3", "p4", "p5", "p6", "p7", "ann"))
	_, err := s.ReportSeats(t.Context(),
		SeatReport{InstanceRef: InstanceRef{InstanceID: "a"}, SessionID: anns.SessionID,
			JoinedPlayers: []Joined{{PlayerSub: "ann", JTI: "j1"}}})
	require.NoError(t, err)
	almostFull := s.mustPlace(t, duelFor(8, "q1", "q2", "q3", "q4", "q5", "q6", "q7"))
	filling := begin(t, s, "UPDATE sessions SET player_count = max_players WHERE id::text = right($1, 36)",
		almostFull.SessionID)

	calls := callsOf[PlaceRequest, Placement](t, duelFor(8, "ann", "pal"), duelFor(8, "jon"))
	done := make(chan error, 1)
	go func() { _, err := s.placeWaiting(t.Context(), "eu", calls, time.Minute); done <- err }()
	waitBlocked(t, s, 1) // it waits for the session that is being filled, since ann's session is full
	_, err = s.ReportSeats(t.Context(), SeatReport{InstanceRef: InstanceRef{InstanceID: "a"}, SessionID: anns.SessionID,
		LeftPlayers: []Left{{PlayerSub: "p7"}}})
	require.NoError(t, err)
	require.NoError(t, filling.Commit(t.Context()))
	require.NoError(t, <-done)
	require.True(t, fault.Is(errorOf(calls[0]), fault.NoCapacity), "there is no other session for ann and pal: %v",
		errorOf(calls[0]))
	require.NoError(t, errorOf(calls[1]), "ann's session has a free seat for another player")
	require.Equal(t, anns.SessionID, s.mustPlace(t, duelFor(8, "jon")).SessionID)
}

// Pins a placement that closed a given-up session, searched for hosts again, and so locked them in the wrong order.
// Here another transaction locks them in the right order meanwhile.
func TestHostsAreLockedInOneOrder(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 8, "b", "m")
	_, err := s.pool.Exec(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''1h''', current_database()); END $$")
	require.NoError(t, err)
	s.pool.Reset() // from now on Postgres resolves no deadlock
	_, err = s.SetDrain(t.Context(), InstanceRef{InstanceID: "b"}, true)
	require.NoError(t, err)
	old := s.mustPlace(t, duelFor(8, "ann"))
	require.Equal(t, "m:7777", old.Endpoint)

	modes := begin(t, s, "SELECT FROM instance_modes WHERE instance_id = 'm' FOR UPDATE")
	placed := make(chan error, 1)
	go func() { _, err := s.Place(t.Context(), duelFor(4, "ann")); placed <- err }()
	waitBlocked(t, s, 1) // it has locked m, and frees the reservation of the closed session there
	_, err = s.SetDrain(t.Context(), InstanceRef{InstanceID: "b"}, false)
	require.NoError(t, err)
	other := begin(t, s, "SELECT FROM instances WHERE id = 'b' FOR NO KEY UPDATE")
	require.NoError(t, modes.Commit(t.Context()))
	_, err = other.Exec(t.Context(), "SET LOCAL lock_timeout = '20s'")
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "SELECT FROM instances WHERE id = 'm' FOR NO KEY UPDATE")
	require.NoError(t, err, "the lock order is b, then m")
	require.NoError(t, other.Commit(t.Context()))
	require.NoError(t, <-placed)
}

type placed struct {
	Placement
	err error
}

// placeAsync places a request in the background.
func (s *Store) placeAsync(ctx context.Context, r PlaceRequest) <-chan placed {
	out := make(chan placed, 1)
	go func() { p, err := s.Place(ctx, r); out <- placed{p, err} }()
	return out
}

func requireUnanswered(t *testing.T, answer <-chan placed) {
	t.Helper()
	select {
	case p := <-answer:
		require.Failf(t, "answered", "%+v", p)
	default:
	}
}

// lockOpener takes the right to open sessions of a size, as a replica does that freezes while it opens one.
func lockOpener(t *testing.T, s *Store, maxPlayers int) pgx.Tx {
	t.Helper()
	return begin(t, s, "SELECT pg_advisory_xact_lock($1)",
		openerLock("eu", pack.Shape{Mode: "duel", MaxPlayers: maxPlayers}))
}

func lockSession(t *testing.T, s *Store, p Placement) pgx.Tx {
	t.Helper()
	return begin(t, s, "SELECT FROM sessions WHERE id::text = right($1, 36) FOR NO KEY UPDATE", p.SessionID)
}

// Pins a replica that freezes while it opens a session, and blocks all placements of the region until its transaction
// ends.
func TestALockedOpenerBlocksOnlyCallsThatNeedIt(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 64, "a")
	s.cfg.LockWait = time.Minute
	open := s.mustPlace(t, duelFor(8, "seed"))
	frozen := lockOpener(t, s, 4)

	calls := callsOf[PlaceRequest, Placement](t, duelFor(4, "ann"), duelFor(8, "bob"), duelFor(2, "cid"))
	require.NoError(t, s.placeBatch(t.Context(), "eu", calls))
	for _, c := range calls[1:] {
		<-c.Done()
		require.NoError(t, errorOf(c))
	}
	require.Equal(t, open.SessionID, resultOf(calls[1]).SessionID)
	require.NotEqual(t, open.SessionID, resultOf(calls[2]).SessionID, "another size opens its session at once")

	waitBlocked(t, s, 1)
	require.Equal(t, open.SessionID, s.mustPlace(t, duelFor(8, "dan")).SessionID, "the next batches do not wait either")
	s.mustPlace(t, duelFor(16, "eve"))
	select {
	case <-calls[0].Done():
		require.Fail(t, "no other transaction may open a session of this size now")
	default:
	}
	require.NoError(t, frozen.Rollback(t.Context()))
	<-calls[0].Done()
	require.NoError(t, errorOf(calls[0]))
}

// Calls for one size that wait for a frozen replica do not block calls for another size in the same batch.
func TestALockedOpenerDoesNotBlockOtherSizesOfItsBatch(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 64, "a")
	frozen, busy := lockOpener(t, s, 4), lockOpener(t, s, 8)
	ann := s.placeAsync(t.Context(), duelFor(4, "ann"))
	waitBlocked(t, s, 1)
	bob := s.placeAsync(t.Context(), duelFor(8, "bob"))
	require.Eventually(t, func() bool { return s.batchGroups.waitingPlacements.Waiting() > 0 }, 10*time.Second,
		time.Millisecond)
	require.NoError(t, busy.Rollback(t.Context()))
	require.NoError(t, (<-bob).err)
	requireUnanswered(t, ann)
	require.NoError(t, frozen.Rollback(t.Context()))
	require.NoError(t, (<-ann).err)
}

// When a frozen replica has locked a session or an instance, placements use another one.
func TestPlacementsAvoidRowsThatStayLocked(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 64, "a", "b")
	full := s.mustPlace(t, duelFor(8, "p1", "p2", "p3", "p4", "p5", "p6", "p7"))
	frozen := lockSession(t, s, full)
	fresh := s.mustPlace(t, duelFor(8, "ann"))
	require.NotEqual(t, full.SessionID, fresh.SessionID)
	require.Equal(t, fresh.SessionID, s.mustPlace(t, duelFor(8, "bob")).SessionID,
		"it is filled although the locked one is fuller")
	require.NoError(t, frozen.Rollback(t.Context()))
	require.Equal(t, full.SessionID, s.mustPlace(t, duelFor(8, "cid")).SessionID)

	least := s.mustPlace(t, duelFor(2, "dan"))
	var next string
	require.NoError(t, s.pool.QueryRow(t.Context(),
		"SELECT id FROM instances ORDER BY reserved_seats, id LIMIT 1").Scan(&next))
	require.NotEqual(t, least.Endpoint, next+":7777")
	begin(t, s, "SELECT FROM instances WHERE id = $1 FOR NO KEY UPDATE", next)
	require.NotEqual(t, next+":7777", s.mustPlace(t, duelFor(4, "eve")).Endpoint)
}

type openings struct{ atomic.Int64 }

// Panic implements GroupObserver.
func (*openings) Panic(string) {}

// Batch implements GroupObserver.
func (o *openings) Batch(group string, _ int, _, _ time.Duration) {
	if group == "opening" {
		o.Add(1)
	}
}

// While the last free seat of a region is in a locked session, no call is refused.
func TestALockedSessionIsNoReasonToRefuse(t *testing.T) {
	t.Parallel()
	seen := &openings{}
	s := observedFleet(t, seen, 8, "a")
	last := s.mustPlace(t, duelFor(8, "p1", "p2", "p3", "p4", "p5", "p6", "p7"))
	frozen := lockSession(t, s, last)
	ann, bob := s.placeAsync(t.Context(), duelFor(8, "ann")), s.placeAsync(t.Context(), duelFor(8, "ann"))
	require.Eventually(t, func() bool { return seen.Load() >= 2 }, 20*time.Second, 5*time.Millisecond,
		"each batch stops waiting, and the calls wait in the next one")
	requireUnanswered(t, ann)
	requireUnanswered(t, bob)

	hurried, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.Error(t, s.Drain(hurried), "two calls are not answered")
	require.NoError(t, frozen.Rollback(t.Context()))
	first, second := <-ann, <-bob
	require.NoError(t, first.err)
	require.NoError(t, second.err)
	require.Equal(t, last.SessionID, first.SessionID)
	require.Equal(t, last.SessionID, second.SessionID, "one player gets one seat, whichever group decides")
	require.NoError(t, s.Drain(t.Context()))
	var seats int
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM seats").Scan(&seats))
	require.Equal(t, 8, seats)
}

// A call ends after the batch timeout even when the caller has no deadline.
func TestPlacementsDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 8, "a")
	s.cfg.BatchTimeout = 500 * time.Millisecond
	lockOpener(t, s, 8)
	_, err := s.Place(t.Context(), duelFor(8, "ann"))
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
}

// A player who gives up a seat waits until the seat's session is unlocked, keeps the seat meanwhile, and delays no
// others.
func TestGivingUpASeatWaitsForItsSession(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 64, "a")
	old := s.mustPlace(t, duelFor(8, "ann"))
	frozen := lockSession(t, s, old)
	ann := s.placeAsync(t.Context(), duelFor(4, "ann"))
	waitBlocked(t, s, 1)
	s.mustPlace(t, duelFor(2, "bob"))
	requireUnanswered(t, ann)
	require.NoError(t, frozen.Rollback(t.Context()))
	require.NoError(t, (<-ann).err)
	_, err := s.Session(t.Context(), old.SessionID)
	require.True(t, fault.Is(err, fault.Gone), "%v", err)
}
