package worker

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
)

// tokenClient is a client whose token resumes its session.
func tokenClient(types *lobby.Types, replica uuid.UUID, token, resume string) db.RealtimeRequest {
	sum := sha256.Sum256([]byte(token))
	return db.RealtimeRequest{
		Region: "eu", ProjectID: "p1", IsAuthenticated: true, TokenDigest: sum[:], ResumeTTL: 30 * time.Second,
		ReplicaID: replica, BackAction: types.MarkBack, ResumedSession: resume,
	}
}

func (b *bundle) openRealtime(o db.RealtimeRequest) db.OpenedRealtime {
	b.t.Helper()
	return must.Get(b.OpenRealtime(b.t.Context(), o))(b.t)
}

// steadyReplica begins a replica of the realtime lobby that has renewed its lease for an hour.
func (b *bundle) steadyReplica() uuid.UUID {
	b.t.Helper()
	id := must.Get(b.BeginRealtimeReplica(b.t.Context(), "eu"))(b.t)
	b.Exec("UPDATE replicas SET seen_at = now(), steady_since = now() - interval '1 hour' WHERE id = $1", id)
	return id
}

// Pins sessions that stay live for ever since their replica has no row: a dump was restored in parts, or a worker of
// the former release, which knows no sessions, has deleted it.
func TestSessionsOfAReplicaWithoutARowEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	types, err := lobby.NewTypes(false, nil)
	require.NoError(t, err)
	l := loopOf(t, b.options(), "realtime")
	lost, _ := b.lobbyReplica(types, 140)
	client := b.openRealtime(tokenClient(types, lost, "ann", ""))
	b.Exec("DELETE FROM replicas WHERE id = $1", lost)
	live := b.steadyReplica()
	require.Equal(t, Done{"suspended": 141}, b.race(2, "realtime", b.options()))
	require.Equal(t, 140, b.lobbyEntries("dropped"))
	back := b.openRealtime(tokenClient(types, live, "ann", client.SessionID))
	require.True(t, back.IsResumed)
	b.Exec("UPDATE realtime_sessions SET suspended_at = suspended_at - interval '1 minute', expires_at = expires_at - interval '1 minute' WHERE owner IS NULL")
	require.Equal(t, Done{"realtime_sessions": 140}, once(t, l))
	require.Equal(t, []string{client.SessionID},
		storetest.One[[]string](b.DB, "SELECT array_agg(id) FROM realtime_sessions"))
	require.Zero(t, storetest.One[int](b.DB, "SELECT members FROM lobbies"))
	b.RequireInvariants()
}

// A dump that is restored days later has replicas that renewed their leases long ago. Their sessions get a whole TTL
// from the time at which the first new replica runs.
func TestARestoredDumpGivesSessionsTheirWholeTTL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	types, err := lobby.NewTypes(false, nil)
	require.NoError(t, err)
	l := loopOf(t, b.options(), "realtime")
	old, _ := b.lobbyReplica(types, 3)
	ann, bob := b.openRealtime(tokenClient(types, old, "ann", "")), b.openRealtime(tokenClient(types, old, "bob", ""))
	require.NoError(t, b.SuspendRealtime(t.Context(), "eu",
		[]db.SessionEpoch{{ID: bob.SessionID, Epoch: bob.OwnerEpoch}}, db.Suspension{AwayAction: types.MarkAway, IsAnnounced: true}))
	b.Exec("UPDATE replicas SET seen_at = now() - interval '3 days', steady_since = now() - interval '4 days'")
	b.Exec("UPDATE realtime_sessions SET suspended_at = suspended_at - interval '3 days', expires_at = expires_at - interval '3 days' WHERE owner IS NULL")
	require.Empty(t, once(t, l), "no replica runs")

	fresh, err := b.BeginRealtimeReplica(t.Context(), "eu")
	require.NoError(t, err)
	require.Empty(t, once(t, l), "the replica is not steady")
	for _, client := range []struct{ token, session string }{{"ann", ann.SessionID}, {"bob", bob.SessionID}} {
		require.True(t, b.openRealtime(tokenClient(types, fresh, client.token, client.session)).IsResumed, client.token)
	}
	b.Exec("UPDATE replicas SET seen_at = now(), steady_since = now() - interval '20 seconds' WHERE id = $1", fresh)
	require.Equal(t, Done{"realtime_replicas": 1, "suspended": 3}, once(t, l))
	require.Equal(t, 5, storetest.One[int](b.DB, "SELECT count(*) FROM realtime_sessions"))
	b.RequireInvariants()
}

// Without a worker nothing ends, and nothing that is over counts: sessions past their TTL are not resumed, and those of
// dead replicas are. A worker then does the work of the week in one run of each loop.
func TestAWeekWithoutAWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	types, err := lobby.NewTypes(false, nil)
	require.NoError(t, err)
	live := b.steadyReplica()
	gone, owned := b.lobbyReplica(types, 190)
	cutOff := b.openRealtime(tokenClient(types, gone, "ann", ""))
	expired := b.openRealtime(tokenClient(types, live, "bob", ""))
	away := slices.Concat(owned[:90], []db.SessionEpoch{{ID: expired.SessionID, Epoch: expired.OwnerEpoch}})
	require.NoError(t, b.SuspendRealtime(t.Context(), "eu", away, db.Suspension{AwayAction: types.MarkAway}))
	b.Exec("UPDATE realtime_sessions SET suspended_at = suspended_at - interval '1 week', expires_at = expires_at - interval '1 week' WHERE owner IS NULL")
	b.Exec("UPDATE replicas SET seen_at = now() - interval '1 week' WHERE id = $1", gone)
	b.Exec("UPDATE lobby_log SET at = at - interval '1 week'")
	b.Exec(`INSERT INTO lobbies (region, uid, project, id, type, state, max_members, grace, closes_at)
		SELECT 'eu', gen_random_uuid(), 'p1', 'chat:empty-' || n, 'chat', '{}', 10, '1 minute', now() - interval '6 days' FROM generate_series(1, 700) n`)
	b.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, expires_at)
		SELECT 'eu', uid, $1, 'p', 'invited', now() - interval '6 days' FROM lobbies WHERE id <> 'chat:default'`, cutOff.SessionID)

	require.False(t, b.openRealtime(tokenClient(types, live, "bob", expired.SessionID)).IsResumed,
		"its TTL is over, although no worker has ended it")
	back := b.openRealtime(tokenClient(types, live, "ann", cutOff.SessionID))
	require.True(t, back.IsResumed)
	require.Empty(t, back.Invitations)

	require.Equal(t, Done{"realtime_replicas": 1, "suspended": 100, "announced": 91, "realtime_sessions": 91},
		once(t, loopOf(t, b.options(), "realtime")))
	done := once(t, loopOf(t, b.options(), "lobby"))
	require.Equal(t, 700, done["rooms_closed"])
	require.Positive(t, done["lobby_log_rows"])
	require.Equal(t, 100, storetest.One[int](b.DB, "SELECT sum(members) FROM lobbies"),
		"those that were suspended just now have their TTL")
	b.RequireInvariants()
}
