package worker

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
)

// lobbyReplica begins a replica of the realtime lobby with sessions, all members of one chat room.
func (b *bundle) lobbyReplica(types *lobby.Types, sessions int) (uuid.UUID, []db.SessionEpoch) {
	b.t.Helper()
	ctx := b.t.Context()
	replica := must.Get(b.BeginRealtimeReplica(ctx, "eu"))(b.t)
	owned := make([]db.SessionEpoch, sessions)
	for i := range owned {
		o := must.Get(b.OpenRealtime(ctx,
			db.RealtimeRequest{Region: "eu", ProjectID: "p1", ResumeTTL: 30 * time.Second, ReplicaID: replica,
				BackAction: types.MarkBack}))(b.t)
		owned[i] = db.SessionEpoch{ID: o.SessionID, Epoch: o.OwnerEpoch}
		must.Get(b.ActInLobby(ctx, db.LobbyAction{
			Region: "eu", ProjectID: "p1", Session: owned[i], RoomID: "chat:default", MakesRoom: true,
			Act: types.JoinRoom(lobby.Join{RoomType: "chat", Session: o.SessionID, Player: o.PlayerSub}),
		}))(b.t)
	}
	return replica, owned
}

func (b *bundle) lobbyEntries(kind string) int {
	b.t.Helper()
	return storetest.One[int](b.DB, `SELECT count(*) FROM lobby_log g, json_array_elements(g.body::json -> 'e') e WHERE e ->> 'k' = $1`, kind)
}

// Pins sessions of a replica that was killed: members of their rooms saw them for ever, or saw them leave twice.
func TestSessionsOfADeadReplicaAreSuspendedOnceAndThenEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	types, err := lobby.NewTypes(false, nil)
	require.NoError(t, err)
	l := loopOf(t, b.options(), "realtime")
	require.Empty(t, once(t, l))
	dead, _ := b.lobbyReplica(types, 150)
	live, _ := b.lobbyReplica(types, 1)
	b.Exec("UPDATE replicas SET seen_at = now() - interval '1 minute' WHERE id = $1", dead)
	require.Empty(t, once(t, l), "no replica is steady")
	b.Exec("UPDATE replicas SET seen_at = now(), steady_since = now() - interval '1 hour' WHERE id = $1", live)
	require.Equal(t, Done{"realtime_replicas": 1, "suspended": 150}, b.race(3, "realtime", b.options()))
	require.Equal(t, 150, b.lobbyEntries("dropped"))
	require.Empty(t, once(t, l))

	b.Exec("UPDATE realtime_sessions SET suspended_at = suspended_at - interval '31 seconds', expires_at = expires_at - interval '31 seconds' WHERE owner IS NULL")
	b.Exec("UPDATE replicas SET seen_at = now() WHERE id = $1", live)
	require.Equal(t, Done{"realtime_sessions": 150}, b.race(3, "realtime", b.options()))
	require.Equal(t, 150, b.lobbyEntries("left"))
	require.Equal(t, 1, storetest.One[int](b.DB, "SELECT members FROM lobbies"))
	b.RequireInvariants()
	b.Exec("UPDATE replicas SET ended_at = ended_at - interval '10 minutes' WHERE id = $1", dead)
	require.Equal(t, Done{"replicas": 1}, once(t, loopOf(t, b.options(), "prune")))
}

// Pins a rolling update that shows every client as gone to the members of its rooms, and clients that are gone and are
// never shown so.
func TestADrainIsAnnouncedOnlyForSessionsThatStayAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	types, err := lobby.NewTypes(false, nil)
	require.NoError(t, err)
	l := loopOf(t, b.options(), "realtime")
	drained, owned := b.lobbyReplica(types, 3)
	live, _ := b.lobbyReplica(types, 1)
	require.NoError(t, b.SuspendRealtime(t.Context(), "eu", owned, db.Suspension{AwayAction: types.MarkAway}))
	require.NoError(t, b.EndRealtimeReplica(t.Context(), "eu", drained))
	require.Empty(t, once(t, l))
	returned, err := b.OpenRealtime(t.Context(),
		db.RealtimeRequest{Region: "eu", ProjectID: "p1", ResumeTTL: 30 * time.Second, ReplicaID: live,
			BackAction: types.MarkBack, ResumedSession: owned[0].ID})
	require.NoError(t, err)
	require.True(t, returned.IsResumed)
	b.Exec("UPDATE realtime_sessions SET suspended_at = suspended_at - interval '6 seconds' WHERE owner IS NULL")
	require.Empty(t, once(t, l), "clients could connect for less than five seconds")
	b.Exec("UPDATE replicas SET steady_since = now() - interval '6 seconds' WHERE id = $1", live)
	require.Equal(t, Done{"announced": 2}, b.race(3, "realtime", b.options()))
	require.Equal(t, 2, b.lobbyEntries("dropped"))
	require.Equal(t, 1, b.lobbyEntries("reconnected"))
	require.Empty(t, once(t, l))
	b.RequireInvariants()
}
