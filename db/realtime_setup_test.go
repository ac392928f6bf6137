package db_test

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/lobby"
)

// nexis is a database with a replica that holds connections of the realtime lobby, and a project with a key.
type nexis struct {
	*bundle

	replica uuid.UUID
}

const lobbyRegion = "eu"

func setupRealtime(t *testing.T, change ...func(*db.Config)) *nexis {
	t.Helper()
	n := &nexis{bundle: setup(t, change...)}
	n.replica = n.beginReplica(n.Store)
	n.Exec("INSERT INTO projects (id, name, region) VALUES ('p1', 'arena', 'eu'), ('p2', 'arena', 'eu')")
	n.key("p1", "k1", "token:mint")
	n.key("p2", "k1", "token:mint")
	return n
}

func (n *nexis) key(project, id string, scopes ...string) {
	n.t.Helper()
	n.Exec("INSERT INTO project_keys (project, id, name, scopes, sealed_secret, sealed_by) VALUES ($1, $2, 'default', $3, '', '')", project, id, scopes)
}

func (n *nexis) beginReplica(s *db.Store) uuid.UUID {
	n.t.Helper()
	return must.Get(s.BeginRealtimeReplica(n.t.Context(), lobbyRegion))(n.t)
}

// client is a client with a token of its own, which connects to the replica.
func (n *nexis) client(token string, change ...func(*db.RealtimeRequest)) db.RealtimeRequest {
	return variant.Apply(db.RealtimeRequest{
		Region: lobbyRegion, ProjectID: "p1", IsAuthenticated: true, KeyID: "k1", KeyRequired: true,
		KeyScope: "token:mint", TokenDigest: digest(token),
		ResumeTTL: 30 * time.Second, ReplicaID: n.replica, BackAction: back,
	}, change...)
}

func digest(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func (n *nexis) open(o db.RealtimeRequest) db.OpenedRealtime {
	n.t.Helper()
	return must.Get(n.OpenRealtime(n.t.Context(), o))(n.t)
}

func resuming(o db.OpenedRealtime) func(*db.RealtimeRequest) {
	return func(r *db.RealtimeRequest) { r.ResumedSession = o.SessionID }
}

func at(replica uuid.UUID) func(*db.RealtimeRequest) {
	return func(r *db.RealtimeRequest) { r.ReplicaID = replica }
}

func epochOf(o db.OpenedRealtime) db.SessionEpoch {
	return db.SessionEpoch{ID: o.SessionID, Epoch: o.OwnerEpoch}
}

func (n *nexis) suspend(announce bool, sessions ...db.OpenedRealtime) {
	n.t.Helper()
	var all []db.SessionEpoch
	for _, o := range sessions {
		all = append(all, epochOf(o))
	}
	require.NoError(n.t, n.SuspendRealtime(n.t.Context(), lobbyRegion, all,
		db.Suspension{AwayAction: away, IsAnnounced: announce}))
}

// age moves the suspension of a session back by a time.
func (n *nexis) age(o db.OpenedRealtime, by time.Duration) {
	n.t.Helper()
	n.Exec("UPDATE realtime_sessions SET suspended_at = suspended_at - $2::interval, expires_at = expires_at - $2::interval WHERE id = $1", o.SessionID, by)
}

// row shows a session: its epoch, and whether it has an owner.
func (n *nexis) row(id string) string {
	n.t.Helper()
	return one[string](n.bundle, `SELECT coalesce((SELECT epoch || CASE WHEN owner IS NULL THEN ' suspended' ELSE ' live' END || CASE WHEN announced THEN '' ELSE ' quietly' END
		FROM realtime_sessions WHERE id = $1), 'none')`, id)
}

// away and back are what the types of rooms do, for any room.
func away(session string) lobby.Action { return present(session, true, lobby.EntryDropped) }

func back(session string) lobby.Action { return present(session, false, lobby.EntryReconnected) }

func present(session string, away bool, entry string) lobby.Action {
	return func(r *lobby.Room) error {
		i := slices.IndexFunc(r.Members, func(m lobby.Member) bool { return m.Session == session })
		if i < 0 {
			return lobby.ErrNotMember
		}
		r.Members[i].IsAway = away
		r.Entries = append(r.Entries, lobby.Entry{Kind: entry, Session: session})
		return nil
	}
}
