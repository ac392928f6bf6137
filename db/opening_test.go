package db

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// smallFleet is a store on a database of its own, in which instances of that capacity offer duels.
func smallFleet(t *testing.T, capacity int, instances ...string) *Store {
	t.Helper()
	s := storeWith(t, "SELECT")
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

// begin starts a transaction of the test's own and runs a statement in it.
func begin(t *testing.T, s *Store, sql string, args ...any) pgx.Tx {
	t.Helper()
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) })
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

func callsOf[Req, Res any](t *testing.T, reqs ...Req) []*call[Req, Res] {
	t.Helper()
	calls := make([]*call[Req, Res], len(reqs))
	for i, r := range reqs {
		calls[i] = &call[Req, Res]{ctx: t.Context(), req: r, since: time.Now(), done: make(chan struct{})}
	}
	return calls
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
	go func() { _, err := s.placeWaiting(t.Context(), "eu", calls); done <- err }()
	waitBlocked(t, s, 1) // for the session that is being filled: ann's looked full
	_, err = s.ReportSeats(t.Context(), SeatReport{Ref: InstanceRef{InstanceID: "a"}, SessionID: anns.SessionID, Left: []Left{{Sub: "p7"}}})
	require.NoError(t, err)
	require.NoError(t, filling.Commit(t.Context()))
	require.NoError(t, <-done)
	require.True(t, IsKind(calls[0].err, NoCapacity), "there is no other session for ann and her friend: %v", calls[0].err)
	require.NoError(t, calls[1].err, "ann's session has room for somebody else")
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
