package db

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/db/internal/batch"
)

// smallFleet is a store on a database of its own, in which instances of that capacity offer duels.
func smallFleet(t *testing.T, capacity int, instances ...string) *Store {
	t.Helper()
	return observedFleet(t, nil, capacity, instances...)
}

func observedFleet(t *testing.T, observer GroupObserver, capacity int, instances ...string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{URL: dbtest.New(t), BatchTimeout: time.Minute, HoldTimeout: 2 * time.Minute, Observer: observer})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	for _, id := range instances {
		_, err := s.Register(t.Context(), Registration{InstanceID: id, Endpoint: id + ":7777", Region: "eu", Modes: []string{"duel"}, Capacity: capacity})
		require.NoError(t, err)
	}
	return s
}

func duelFor(maxPlayers int, party ...string) PlaceRequest {
	return PlaceRequest{Caller: party[0], Region: "eu", Mode: "duel", Party: party, MaxPlayers: maxPlayers}
}

func (s *Store) mustPlace(t *testing.T, r PlaceRequest) Placement {
	t.Helper()
	p, err := s.Place(t.Context(), r)
	require.NoError(t, err)
	return p
}

// begin starts a transaction of the test's own, on a connection of its own, and runs a statement in it.
func begin(t *testing.T, s *Store, sql string, args ...any) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.cfg.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
	return tx
}

// waitBlocked returns when n connections wait for locks of others.
func waitBlocked(t *testing.T, s *Store, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'").Scan(&waiting)
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

// A session in which a member of one party plays was taken for full on behalf of the whole batch.
func TestOnePartysSessionIsRoomForOthers(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 16, "a")
	anns := s.mustPlace(t, duelFor(8, "p1", "p2", "p3", "p4", "p5", "p6", "p7", "ann"))
	_, err := s.ReportSeats(t.Context(), SeatReport{Ref: InstanceRef{InstanceID: "a"}, SessionID: anns.SessionID, Joined: []Joined{{Sub: "ann", JTI: "j1"}}})
	require.NoError(t, err)
	almostFull := s.mustPlace(t, duelFor(8, "q1", "q2", "q3", "q4", "q5", "q6", "q7"))
	filling := begin(t, s, "UPDATE sessions SET player_count = max_players WHERE id::text = right($1, 36)", almostFull.SessionID)

	calls := callsOf[PlaceRequest, Placement](t, duelFor(8, "ann", "pal"), duelFor(8, "jon"))
	done := make(chan error, 1)
	go func() { _, err := s.placeWaiting(t.Context(), "eu", calls, time.Minute); done <- err }()
	waitBlocked(t, s, 1) // for the session that is being filled: ann's looked full
	_, err = s.ReportSeats(t.Context(), SeatReport{Ref: InstanceRef{InstanceID: "a"}, SessionID: anns.SessionID, Left: []Left{{Sub: "p7"}}})
	require.NoError(t, err)
	require.NoError(t, filling.Commit(t.Context()))
	require.NoError(t, <-done)
	require.True(t, IsKind(errorOf(calls[0]), NoCapacity), "there is no other session for ann and her friend: %v", errorOf(calls[0]))
	require.NoError(t, errorOf(calls[1]), "ann's session has room for somebody else")
	require.Equal(t, anns.SessionID, s.mustPlace(t, duelFor(8, "jon")).SessionID)
}

// A transaction that had closed a session that was given up looked for hosts anew, and so locked one before another that
// it held already. Here the other one waits for it the right way round.
func TestHostsAreLockedInOneOrder(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 8, "b", "m")
	_, err := s.pool.Exec(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''1h''', current_database()); END $$")
	require.NoError(t, err)
	s.pool.Reset() // deadlocks last from now on
	_, err = s.SetDrain(t.Context(), InstanceRef{InstanceID: "b"}, true)
	require.NoError(t, err)
	old := s.mustPlace(t, duelFor(8, "ann"))
	require.Equal(t, "m:7777", old.Endpoint)

	modes := begin(t, s, "SELECT FROM instance_modes WHERE instance_id = 'm' FOR UPDATE")
	placed := make(chan error, 1)
	go func() { _, err := s.Place(t.Context(), duelFor(4, "ann")); placed <- err }()
	waitBlocked(t, s, 1) // where it gives the room of the closed session back to m, which it holds
	_, err = s.SetDrain(t.Context(), InstanceRef{InstanceID: "b"}, false)
	require.NoError(t, err)
	other := begin(t, s, "SELECT FROM instances WHERE id = 'b' FOR NO KEY UPDATE")
	require.NoError(t, modes.Commit(t.Context()))
	_, err = other.Exec(t.Context(), "SET LOCAL lock_timeout = '20s'")
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "SELECT FROM instances WHERE id = 'm' FOR NO KEY UPDATE")
	require.NoError(t, err, "b and then m is the order")
	require.NoError(t, other.Commit(t.Context()))
	require.NoError(t, <-placed)
}

type placed struct {
	Placement
	err error
}

// placing asks for a seat and does not wait for it.
func (s *Store) placing(ctx context.Context, r PlaceRequest) <-chan placed {
	out := make(chan placed, 1)
	go func() { p, err := s.Place(ctx, r); out <- placed{p, err} }()
	return out
}

func requireWaiting(t *testing.T, answer <-chan placed) {
	t.Helper()
	select {
	case p := <-answer:
		require.Failf(t, "answered", "%+v", p)
	default:
	}
}

// holdOpener holds the right to open sessions of a size, as a replica does that is frozen while it opens one.
func holdOpener(t *testing.T, s *Store, maxPlayers int) pgx.Tx {
	t.Helper()
	return begin(t, s, "SELECT pg_advisory_xact_lock($1)", openerLock("eu", shape{"duel", maxPlayers}))
}

func holdSession(t *testing.T, s *Store, p Placement) pgx.Tx {
	t.Helper()
	return begin(t, s, "SELECT FROM sessions WHERE id::text = right($1, 36) FOR NO KEY UPDATE", p.SessionID)
}

// A replica that froze while it opened a session held up all placements of the region until its transaction ended.
func TestAHeldOpenerHoldsUpOnlyThoseWhoNeedIt(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 64, "a")
	s.cfg.LockWait = time.Minute
	open := s.mustPlace(t, duelFor(8, "seed"))
	frozen := holdOpener(t, s, 4)

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
		require.Fail(t, "nobody else may open a session of this size now")
	default:
	}
	require.NoError(t, frozen.Rollback(t.Context()))
	<-calls[0].Done()
	require.NoError(t, errorOf(calls[0]))
}

// One size that waits for a frozen replica does not keep another one waiting that goes by the same batch.
func TestAHeldOpenerHoldsUpNoOtherThatWaited(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 64, "a")
	frozen, busy := holdOpener(t, s, 4), holdOpener(t, s, 8)
	ann := s.placing(t.Context(), duelFor(4, "ann"))
	waitBlocked(t, s, 1)
	bob := s.placing(t.Context(), duelFor(8, "bob"))
	require.Eventually(t, func() bool { return s.groups.openings.Waiting() > 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, busy.Rollback(t.Context()))
	require.NoError(t, (<-bob).err)
	requireWaiting(t, ann)
	require.NoError(t, frozen.Rollback(t.Context()))
	require.NoError(t, (<-ann).err)
}

// A session, or an instance, that a frozen replica holds is done without where there is another.
func TestWhatIsHeldForLongIsDoneWithout(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 64, "a", "b")
	full := s.mustPlace(t, duelFor(8, "p1", "p2", "p3", "p4", "p5", "p6", "p7"))
	frozen := holdSession(t, s, full)
	fresh := s.mustPlace(t, duelFor(8, "ann"))
	require.NotEqual(t, full.SessionID, fresh.SessionID)
	require.Equal(t, fresh.SessionID, s.mustPlace(t, duelFor(8, "bob")).SessionID, "and filled, though the fuller one is held")
	require.NoError(t, frozen.Rollback(t.Context()))
	require.Equal(t, full.SessionID, s.mustPlace(t, duelFor(8, "cid")).SessionID)

	least := s.mustPlace(t, duelFor(2, "dan"))
	var next string
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT id FROM instances ORDER BY reserved_seats, id LIMIT 1").Scan(&next))
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

// The last seat of a region may be in a session that somebody holds: then nobody is refused.
func TestWhatIsHeldForLongIsNoReasonToRefuse(t *testing.T) {
	t.Parallel()
	seen := &openings{}
	s := observedFleet(t, seen, 8, "a")
	last := s.mustPlace(t, duelFor(8, "p1", "p2", "p3", "p4", "p5", "p6", "p7"))
	frozen := holdSession(t, s, last)
	ann, bob := s.placing(t.Context(), duelFor(8, "ann")), s.placing(t.Context(), duelFor(8, "ann"))
	require.Eventually(t, func() bool { return seen.Load() >= 2 }, 20*time.Second, 5*time.Millisecond, "each batch gives up waiting and asks anew")
	requireWaiting(t, ann)
	requireWaiting(t, bob)

	hurried, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.Error(t, s.Drain(hurried), "two calls are under way")
	require.NoError(t, frozen.Rollback(t.Context()))
	first, second := <-ann, <-bob
	require.NoError(t, first.err)
	require.NoError(t, second.err)
	require.Equal(t, last.SessionID, first.SessionID)
	require.Equal(t, last.SessionID, second.SessionID, "one player has one seat, whichever group decides")
	require.NoError(t, s.Drain(t.Context()))
	var seats int
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM seats").Scan(&seats))
	require.Equal(t, 8, seats)
}

// Waiting has an end, also for callers without a deadline.
func TestNobodyWaitsForEver(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 8, "a")
	s.cfg.BatchTimeout = 500 * time.Millisecond
	holdOpener(t, s, 8)
	_, err := s.Place(t.Context(), duelFor(8, "ann"))
	require.True(t, IsKind(err, Unavailable), "%v", err)
}

// A party that changes its mind does not wait for others for longer either, and keeps its seat meanwhile.
func TestGivingUpWaitsForTheHeldSession(t *testing.T) {
	t.Parallel()
	s := smallFleet(t, 64, "a")
	old := s.mustPlace(t, duelFor(8, "ann"))
	frozen := holdSession(t, s, old)
	ann := s.placing(t.Context(), duelFor(4, "ann"))
	waitBlocked(t, s, 1)
	s.mustPlace(t, duelFor(2, "bob"))
	requireWaiting(t, ann)
	require.NoError(t, frozen.Rollback(t.Context()))
	require.NoError(t, (<-ann).err)
	_, err := s.Session(t.Context(), old.SessionID)
	require.True(t, IsKind(err, Gone), "%v", err)
}
