package db_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins a socket that closes late and suspends the session that its client has resumed elsewhere.
func TestALateSuspendOfAFormerOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	first := n.open(n.client("ann"))
	second := n.open(n.client("ann", resuming(first), at(n.beginReplica(n.Store))))
	n.suspend(true, first)
	require.Equal(t, "2 live", n.row(first.SessionID))
	n.suspend(true, second)
	require.Equal(t, "2 suspended", n.row(first.SessionID))
	since := one[time.Time](n.bundle, "SELECT suspended_at FROM realtime_sessions")
	n.suspend(false, second)
	require.Equal(t, since, one[time.Time](n.bundle, "SELECT suspended_at FROM realtime_sessions"),
		"a repetition does not prolong the TTL")
	n.suspend(true, db.OpenedRealtime{SessionID: "s-0000000000000000", OwnerEpoch: 1})
}

func TestManySessionsAreSuspendedAtOnce(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.Exec("INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner) SELECT 'eu', 's-' || n, 'p1', 'p', false, '30 seconds', $1 FROM generate_series(1, 1000) n", n.replica)
	var all []db.SessionEpoch
	for _, id := range one[[]string](n.bundle, "SELECT array_agg(id) FROM realtime_sessions") {
		all = append(all, db.SessionEpoch{ID: id, Epoch: 1}, db.SessionEpoch{ID: id, Epoch: 1})
	}
	require.NoError(t, n.SuspendRealtime(t.Context(), lobbyRegion, all, db.Suspension{AwayAction: away}))
	require.Equal(t, 1000, one[int](n.bundle,
		"SELECT count(*) FROM realtime_sessions WHERE owner IS NULL AND NOT announced"))
}

// Pins two processes that both believe that they own a session, since both resumed it at the same time.
func TestRacersThatResumeASessionLeaveOneOwner(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	first := n.open(n.client("ann"))
	n.suspend(true, first)
	const racers = 5
	epochs, wg := make([]int64, racers), sync.WaitGroup{}
	for i := range racers {
		store := n.Replica()
		o := n.client("ann", resuming(first), at(n.beginReplica(store)))
		wg.Go(func() {
			for range 2 {
				if opened, err := store.OpenRealtime(context.WithoutCancel(t.Context()), o); err == nil &&
					opened.SessionID == first.SessionID {
					epochs[i] = opened.OwnerEpoch
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, "11 live", n.row(first.SessionID), "each call got an epoch of its own")
	owners := 0
	for _, epoch := range epochs {
		if one[int64](n.bundle, "SELECT epoch FROM realtime_sessions") == epoch {
			owners++
		}
	}
	require.Equal(t, 1, owners)
	require.Equal(t, 1, one[int](n.bundle, "SELECT count(*) FROM realtime_sessions"))
}
