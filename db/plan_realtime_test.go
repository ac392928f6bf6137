package db

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// largeLobby inserts 20,000 sessions of two replicas: half of them connected, the others suspended, a few of these due.
// Each is a member of two rooms, and every hundredth is invited to a third.
const largeLobby = `
INSERT INTO replicas (region, id, face, ended_at, rows_until) SELECT 'eu', md5('r' || n)::uuid, 'realtime', CASE WHEN n = 1 THEN now() END, CASE WHEN n = 1 THEN now() END
	FROM generate_series(0, 1) n;
INSERT INTO projects (id, name, region) SELECT 'p' || n, 'arena', 'eu' FROM generate_series(1, 100) n;
INSERT INTO project_keys (project, id, name, scopes, sealed_secret, sealed_by) SELECT 'p' || n, 'k' || k, 'default', '{token:mint}', '', '' FROM generate_series(1, 100) n, generate_series(1, 20) k;
INSERT INTO realtime_sessions (region, id, project, player, authenticated, key_id, ttl, owner)
	SELECT 'eu', 's-' || n, 'p' || n % 100, 'player' || n, true, 'k1', '30 seconds', md5('r' || (n % 500 = 0)::int)::uuid FROM generate_series(1, 10000) n;
INSERT INTO realtime_sessions (region, id, project, player, authenticated, key_id, ttl, suspended_at, expires_at, announced)
	SELECT 'eu', 's-' || n, 'p' || n % 100, 'player' || n, true, 'k1', '1 hour', now() - n * interval '1 ms', now() + interval '1 hour' - n * interval '170 ms', n % 500 <> 0
	FROM generate_series(10001, 20000) n;
INSERT INTO lobbies (region, uid, project, id, type, state, members, max_members, grace)
	SELECT 'eu', md5('l' || n)::uuid, 'p' || n % 100, 'chat:' || n, 'chat', '{}', 10, 200, '1 minute' FROM generate_series(0, 3999) n;
INSERT INTO lobby_members (region, lobby, session, player, state, join_order)
	SELECT 'eu', md5('l' || (n + k * 7) % 4000)::uuid, 's-' || n, 'player' || n, 'joined', n FROM generate_series(1, 20000) n, generate_series(0, 1) k;
INSERT INTO lobby_members (region, lobby, session, player, state, expires_at)
	SELECT 'eu', md5('l' || (n + 21) % 4000)::uuid, 's-' || n, 'player' || n, 'invited', now() + interval '5 minutes' FROM generate_series(100, 20000, 100) n;
INSERT INTO lobby_invitations (region, lobby, player, project, invited_by, inviting_player, expires_at)
	SELECT 'eu', md5('l' || n % 4000)::uuid, 'player' || n, 'p' || n % 100, 's-1', 'player' || n % 1000, now() + interval '5 minutes' FROM generate_series(1, 10000) n;
INSERT INTO player_blocks (region, project, player, blocked) SELECT 'eu', 'p' || n % 100, 'player' || n, 'player' || n + 1 FROM generate_series(1, 10000) n;
ANALYZE;`

func TestRealtimePlansReadWhatTheyTake(t *testing.T) {
	t.Parallel()
	store := storeWith(t, largeLobby)
	ids, replica, page := []string{"s-1", "s-10001"}, uuid.New(), int64(128)
	readWhatTheyTake(t, store.pool, map[string]func(context.Context, *query.Queries) error{
		"LockRealtimeSessions": func(ctx context.Context, q *query.Queries) error {
			return second(q.LockRealtimeSessions(ctx, query.LockRealtimeSessionsParams{Region: "eu", Ids: ids}))
		},
		"JudgeRealtimeKeys": func(ctx context.Context, q *query.Queries) error {
			return second(q.JudgeRealtimeKeys(ctx, query.JudgeRealtimeKeysParams{}))
		},
		"InsertRealtimeSessions": func(ctx context.Context, q *query.Queries) error {
			return q.InsertRealtimeSessions(ctx, query.InsertRealtimeSessionsParams{Region: "eu"})
		},
		"AttachRealtimeSessions": func(ctx context.Context, q *query.Queries) error {
			return q.AttachRealtimeSessions(ctx, query.AttachRealtimeSessionsParams{Region: "eu"})
		},
		"SuspendRealtimeSessions": func(ctx context.Context, q *query.Queries) error {
			return q.SuspendRealtimeSessions(ctx, query.SuspendRealtimeSessionsParams{Region: "eu"})
		},
		"RoomsOfRealtimeSessions": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomsOfRealtimeSessions(ctx, query.RoomsOfRealtimeSessionsParams{Region: "eu", Sessions: ids}))
		},
		"RealtimeInvitations": func(ctx context.Context, q *query.Queries) error {
			return second(q.RealtimeInvitations(ctx, query.RealtimeInvitationsParams{Region: "eu", Sessions: ids}))
		},
		"SessionsOfPlayers": func(ctx context.Context, q *query.Queries) error {
			return second(q.SessionsOfPlayers(ctx, query.SessionsOfPlayersParams{Region: "eu", Projects: []string{"p1"}, Players: []string{"player1"}, Most: 32}))
		},
		"MissedMessages": func(ctx context.Context, q *query.Queries) error {
			return second(q.MissedMessages(ctx, query.MissedMessagesParams{Region: "eu", Sessions: ids, Since: make([]time.Time, 2), MostRows: 256, MostBytes: 1 << 20}))
		},
		"RealtimeNews": func(ctx context.Context, q *query.Queries) error {
			return second(q.RealtimeNews(ctx, query.RealtimeNewsParams{Region: "eu", Replica: replica}))
		},
		"OwnedRealtime": func(ctx context.Context, q *query.Queries) error {
			return second(q.OwnedRealtime(ctx, query.OwnedRealtimeParams{Region: "eu", Replica: replica, Page: page}))
		},
		"SessionsOfEndedReplicas": func(ctx context.Context, q *query.Queries) error {
			return second(q.SessionsOfEndedReplicas(ctx, query.SessionsOfEndedReplicasParams{Region: "eu", Most: page}))
		},
		"SessionsToAnnounce": func(ctx context.Context, q *query.Queries) error {
			return second(q.SessionsToAnnounce(ctx, query.SessionsToAnnounceParams{Region: "eu", Most: page}))
		},
		"AnnounceRealtimeSessions": func(ctx context.Context, q *query.Queries) error {
			return q.AnnounceRealtimeSessions(ctx, query.AnnounceRealtimeSessionsParams{Region: "eu", Ids: ids})
		},
		"SessionsToEnd": func(ctx context.Context, q *query.Queries) error {
			return second(q.SessionsToEnd(ctx, query.SessionsToEndParams{Region: "eu", Most: page}))
		},
		"DeleteRealtimeSessions": func(ctx context.Context, q *query.Queries) error {
			return q.DeleteRealtimeSessions(ctx, query.DeleteRealtimeSessionsParams{Region: "eu", Ids: ids})
		},
	})
}
