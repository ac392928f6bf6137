package db_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
)

func (n *nexis) news(sessions ...db.OpenedRealtime) []db.RealtimeNews {
	n.t.Helper()
	var all []db.SessionEpoch
	for _, o := range sessions {
		all = append(all, epochOf(o))
	}
	return must.Get(n.ReadRealtimeNews(n.t.Context(), lobbyRegion, n.replica, all))(n.t)
}

// Pins a connection that stays open after its session was taken over, ended, or lost its key, since the notice was
// lost.
func TestAReplicaLearnsWhatItMissed(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.key("p1", "k2", "token:mint")
	kept, taken, ended, revoked := n.open(n.client("a")), n.open(n.client("b")), n.open(n.client("c")), n.open(n.client("d", func(o *db.RealtimeRequest) { o.KeyID = "k2" }))
	require.Empty(t, n.news(kept, taken, ended, revoked))
	n.open(n.client("b", resuming(taken), at(n.beginReplica(n.Store))))
	n.Exec("DELETE FROM realtime_sessions WHERE id = $1", ended.SessionID)
	n.Exec("UPDATE project_keys SET revoked_at = now(), retires_at = now() + interval '1 hour' WHERE id = 'k2'")
	require.ElementsMatch(t, []db.RealtimeNews{{SessionID: taken.SessionID, IsSuperseded: true},
		{SessionID: ended.SessionID, IsSuperseded: true}}, n.news(kept, taken, ended, revoked))
	n.Exec("UPDATE project_keys SET retires_at = now() WHERE id = 'k2'")
	require.Equal(t, []db.RealtimeNews{{SessionID: revoked.SessionID, IsRevoked: true}}, n.news(kept, revoked))
	n.suspend(true, kept)
	require.Equal(t, []db.RealtimeNews{{SessionID: kept.SessionID, IsSuperseded: true}}, n.news(kept),
		"a worker suspended it while this process was frozen")
}

func TestOpenInvitationsAreNewsUntilTheyExpire(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	ann, bob := n.open(n.client("ann")), n.open(n.client("bob"))
	lobby := uuid.New()
	n.Exec(`INSERT INTO lobbies (region, uid, project, id, type, state, max_members, grace, match_id, participants, size)
		VALUES ('eu', $1, 'p1', 'duel:match:7', 'duel', '{}', 2, '1 minute', gen_random_uuid(), $2, 2)`, lobby, []string{bob.SessionID, ann.SessionID})
	n.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, expires_at) VALUES ('eu', $1, $2, 'ann', 'invited', now() + interval '5 minutes')`, lobby, ann.SessionID)
	want := []db.RealtimeInvitation{{LobbyUID: lobby, RoomID: "duel:match:7", RoomType: "duel", MatchSize: 2,
		Participants: []string{bob.SessionID, ann.SessionID}}}
	require.Equal(t, []db.RealtimeNews{{SessionID: ann.SessionID, Invitations: want}}, n.news(ann, bob))
	taken := n.open(n.client("ann", resuming(ann)))
	require.Equal(t, want, taken.Invitations, "until the session joins the room, each connection is told")
	require.Equal(t, []db.RealtimeNews{{SessionID: ann.SessionID, IsSuperseded: true}}, n.news(ann),
		"its former owner delivers nothing")
	n.Exec("UPDATE lobby_members SET expires_at = now()")
	require.Empty(t, n.news(taken))
	require.Empty(t, n.open(n.client("ann", resuming(taken))).Invitations)
}

// Pins an invitation that does not say who invites.
func TestAnInvitationNamesTheInviter(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	ann, bob := n.open(n.client("ann")), n.open(n.client("bob"))
	lobby := uuid.New()
	n.Exec("INSERT INTO lobbies (region, uid, project, id, type, state, members, max_members, grace) VALUES ('eu', $1, 'p1', 'party:1', 'party', '{}', 1, 16, '1 minute')", lobby)
	n.Exec("INSERT INTO lobby_members (region, lobby, session, player, state, join_order) VALUES ('eu', $1, $2, 'ann', 'joined', 1)", lobby, ann.SessionID)
	n.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, expires_at, invited_by)
		VALUES ('eu', $1, $2, 'bob', 'invited', now() + interval '5 minutes', $3)`, lobby, bob.SessionID, ann.SessionID)
	want := db.RealtimeInvitation{LobbyUID: lobby, RoomID: "party:1", RoomType: "party", FromSession: ann.SessionID,
		FromPlayer: "ann"}
	require.Equal(t, []db.RealtimeInvitation{want}, n.news(bob)[0].Invitations)
	n.Exec("UPDATE lobby_members SET player = $1 WHERE session = $1", ann.SessionID)
	want.FromPlayer = ""
	require.Equal(t, []db.RealtimeInvitation{want}, n.news(bob)[0].Invitations, "the inviter has no name")
}

// Pins a replica with 10,000 sessions that reads them all in one statement, or only some of them.
func TestNewsComeInPages(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.Exec("INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner) SELECT 'eu', 's-' || n, 'p1', 'p', false, '30 seconds', $1 FROM generate_series(1, 2500) n", n.replica)
	var all []db.OpenedRealtime
	for i := range 2501 {
		all = append(all, db.OpenedRealtime{SessionID: fmt.Sprintf("s-%d", i), OwnerEpoch: 1})
	}
	require.Equal(t, []db.RealtimeNews{{SessionID: "s-0", IsSuperseded: true}}, n.news(all...))
	n.Exec("UPDATE realtime_sessions SET epoch = 2")
	require.Len(t, n.news(all...), 2501)
}

// Pins a session that stays live for ever without a connection, since the outcome of the call that opened it was
// unknown.
func TestAReplicaFindsTheSessionsThatItOwns(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.Exec("INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner, epoch) SELECT 'eu', 's-' || lpad(n::text, 4, '0'), 'p1', 'p', false, '30 seconds', $1, n FROM generate_series(1, 1001) n", n.replica)
	n.open(n.client("ann", at(n.beginReplica(n.Store))))
	first, err := n.OwnedRealtime(t.Context(), lobbyRegion, n.replica, "")
	require.NoError(t, err)
	require.Len(t, first, 1000)
	rest, err := n.OwnedRealtime(t.Context(), lobbyRegion, n.replica, first[999].ID)
	require.NoError(t, err)
	require.Equal(t, []db.SessionEpoch{{ID: "s-1001", Epoch: 1001}}, rest)
}
