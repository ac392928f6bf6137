package db

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
)

// crowdedLobbies is a region with 10,000 rooms of three members each, of which some close soon, and a minute of their
// logs.
const crowdedLobbies = `
INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner)
	SELECT 'eu', 's' || n, 'p', 'player' || n, true, '30 s', gen_random_uuid() FROM generate_series(1, 30000) n;
INSERT INTO lobbies (region, uid, project, id, type, pos, state, members, joins, max_members, private, grace, closes_at)
	SELECT 'eu', md5('r' || n)::uuid, 'p' || n % 2, 'chat:' || n, 'chat', 3, '{}', 3, 3, 10, n % 10 = 0, '1 min',
	       CASE WHEN n % 100 = 0 THEN now() + n * interval '1 ms' END FROM generate_series(1, 10000) n;
INSERT INTO lobby_members (region, lobby, session, player, state, join_order)
	SELECT 'eu', md5('r' || (1 + n / 3))::uuid, 's' || n, 'player' || n, 'joined', 1 + n % 3 FROM generate_series(0, 29999) n;
INSERT INTO lobby_members (region, lobby, session, player, state, expires_at)
	SELECT 'eu', md5('r' || n)::uuid, 'invited' || n, 'player' || n, 'invited', now() + n * interval '1 s' FROM generate_series(1, 1000) n;
INSERT INTO lobby_log (region, lobby, pos, at, body)
	SELECT 'eu', md5('r' || (1 + n / 3))::uuid, 1 + n % 3, now() - n * interval '2 ms', '{"e":[]}' FROM generate_series(0, 29999) n;
INSERT INTO lobby_invitations (region, lobby, player, project, invited_by, inviting_player, expires_at)
	SELECT 'eu', md5('r' || n % 4000)::uuid, 'player' || n, 'p' || n % 2, 's-1', 'player' || n % 1000, now() + n * interval '1 s' FROM generate_series(1, 10000) n;
INSERT INTO player_blocks (region, project, player, blocked) SELECT 'eu', 'p' || n % 2, 'player' || n, 'player' || n + 1 FROM generate_series(1, 10000) n;
ANALYZE;`

func TestPlansOfLobbies(t *testing.T) {
	t.Parallel()
	store := storeWith(t, crowdedLobbies)
	one := []uuid.UUID{uuid.New()}
	readWhatTheyTake(t, store.pool, map[string]func(context.Context, *query.Queries) error{
		"LockLobbySessions": func(ctx context.Context, q *query.Queries) error {
			return second(q.LockLobbySessions(ctx, query.LockLobbySessionsParams{Region: "eu", Ids: []string{"s1"}}))
		},
		"LockLobbies": func(ctx context.Context, q *query.Queries) error {
			return second(q.LockLobbies(ctx, query.LockLobbiesParams{Region: "eu", Uids: one}))
		},
		"LobbyMembers": func(ctx context.Context, q *query.Queries) error {
			return second(q.LobbyMembers(ctx, query.LobbyMembersParams{Region: "eu", Uids: one}))
		},
		"PutLobbies": func(ctx context.Context, q *query.Queries) error {
			return q.PutLobbies(ctx, query.PutLobbiesParams{Region: "eu", Uids: one})
		},
		"DeleteLobbies": func(ctx context.Context, q *query.Queries) error {
			return q.DeleteLobbies(ctx, query.DeleteLobbiesParams{Region: "eu", Uids: one})
		},
		"DeleteMembersOfLobbies": func(ctx context.Context, q *query.Queries) error {
			return q.DeleteMembersOfLobbies(ctx, query.DeleteMembersOfLobbiesParams{Region: "eu", Uids: one})
		},
		"DeleteLobbyMembers": func(ctx context.Context, q *query.Queries) error {
			return q.DeleteLobbyMembers(ctx, query.DeleteLobbyMembersParams{Region: "eu", Lobbies: one})
		},
		"InvitePlayers": func(ctx context.Context, q *query.Queries) error {
			return second(q.InvitePlayers(ctx, query.InvitePlayersParams{Region: "eu", Lobbies: one}))
		},
		"RoomsOfSessions": func(ctx context.Context, q *query.Queries) error {
			return second(q.RoomsOfSessions(ctx, query.RoomsOfSessionsParams{Region: "eu", Sessions: []string{"s1"}}))
		},
		"PutParticipants": func(ctx context.Context, q *query.Queries) error {
			return q.PutParticipants(ctx, query.PutParticipantsParams{Region: "eu", Uids: one, Participants: []string{"{s1}"}})
		},
		"AnswerInvitations": func(ctx context.Context, q *query.Queries) error {
			return q.AnswerInvitations(ctx, query.AnswerInvitationsParams{Region: "eu", Lobbies: one, Players: []string{"player1"}})
		},
		"DropExpiredPlayerInvitations": func(ctx context.Context, q *query.Queries) error {
			return second(q.DropExpiredPlayerInvitations(ctx, query.DropExpiredPlayerInvitationsParams{Region: "eu", Most: 100}))
		},
		"LobbyLog": func(ctx context.Context, q *query.Queries) error {
			return second(q.LobbyLog(ctx, query.LobbyLogParams{Region: "eu", Lobbies: one}))
		},
		"LobbyPositions": func(ctx context.Context, q *query.Queries) error {
			return second(q.LobbyPositions(ctx, query.LobbyPositionsParams{Region: "eu", Uids: one}))
		},
		"LobbySnapshots": func(ctx context.Context, q *query.Queries) error {
			return second(q.LobbySnapshots(ctx, query.LobbySnapshotsParams{Region: "eu", Uids: one}))
		},
		"ListLobbies": func(ctx context.Context, q *query.Queries) error {
			return second(q.ListLobbies(ctx, query.ListLobbiesParams{Region: "eu", Project: "p1"}))
		},
		"PutLobbyDetails": func(ctx context.Context, q *query.Queries) error {
			return q.PutLobbyDetails(ctx, query.PutLobbyDetailsParams{Region: "eu", Uids: one, Metadata: []string{""}, Codes: []string{""}, Sanctions: []string{""}})
		},
		"LobbyOfCode": func(ctx context.Context, q *query.Queries) error {
			_, err := q.LobbyOfCode(ctx, query.LobbyOfCodeParams{Region: "eu", Project: "p1", Code: "KX7-4ZM"})
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		},
		"NewestLobbies": func(ctx context.Context, q *query.Queries) error {
			return second(q.NewestLobbies(ctx, query.NewestLobbiesParams{Region: "eu", Project: "p1", OfType: "chat", Page: 100}))
		},
		"PlayerPresence": func(ctx context.Context, q *query.Queries) error {
			return second(q.PlayerPresence(ctx, query.PlayerPresenceParams{Region: "eu", Project: "p", Players: []string{"player1", "nobody"}}))
		},
		"LobbiesToClose": func(ctx context.Context, q *query.Queries) error {
			return second(q.LobbiesToClose(ctx, query.LobbiesToCloseParams{Region: "eu", Most: 100}))
		},
		"CloseLobbies": func(ctx context.Context, q *query.Queries) error {
			return second(q.CloseLobbies(ctx, query.CloseLobbiesParams{Region: "eu", Uids: one}))
		},
		"KeepLobbies": func(ctx context.Context, q *query.Queries) error {
			return q.KeepLobbies(ctx, query.KeepLobbiesParams{Region: "eu", Uids: one})
		},
		"LobbiesWithExpiredInvitations": func(ctx context.Context, q *query.Queries) error {
			return second(q.LobbiesWithExpiredInvitations(ctx, query.LobbiesWithExpiredInvitationsParams{Region: "eu", Most: 100}))
		},
		"DeleteExpiredInvitations": func(ctx context.Context, q *query.Queries) error {
			return q.DeleteExpiredInvitations(ctx, query.DeleteExpiredInvitationsParams{Region: "eu", Uids: one})
		},
		"StartGrace": func(ctx context.Context, q *query.Queries) error {
			return q.StartGrace(ctx, query.StartGraceParams{Region: "eu", Uids: one})
		},
		"PruneLobbyLog": func(ctx context.Context, q *query.Queries) error {
			return second(q.PruneLobbyLog(ctx, query.PruneLobbyLogParams{Region: "eu", Most: 100}))
		},
	})
}

// Pins a pruner that reads the rows that it has deleted again and again while an old snapshot keeps them from vacuum.
func TestPruningStartsAtItsMark(t *testing.T) {
	t.Parallel()
	store := storeWith(t, crowdedLobbies)
	old, err := pgx.Connect(t.Context(), store.pool.Config().ConnString())
	require.NoError(t, err)
	defer func() { require.NoError(t, old.Close(context.WithoutCancel(t.Context()))) }()
	_, err = old.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ")
	require.NoError(t, err)
	_, err = old.Exec(t.Context(), "SELECT count(*) FROM lobby_log")
	require.NoError(t, err)
	_, err = store.pool.Exec(t.Context(), "UPDATE lobby_log SET at = at - interval '2 minutes'")
	require.NoError(t, err)
	var mark time.Time
	total := 0
	for {
		n, last, err := store.PruneLobbyLog(t.Context(), "eu", mark, 1000)
		require.NoError(t, err)
		require.False(t, last.Before(mark))
		mark, total = last, total+n
		if n < 1000 {
			break
		}
	}
	require.Equal(t, 30_000, total)
}
