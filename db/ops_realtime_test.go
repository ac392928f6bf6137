package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	liveLobbyReplica = "00000000-0000-0000-0000-00000000001a"
	deadLobbyReplica = "00000000-0000-0000-0000-00000000001b"
)

// lobbyAtWork inserts projects, sessions in each state, and rooms: one with members and an invitation, one without, and
// one of a match.
func (d *opsDB) lobbyAtWork() {
	d.t.Helper()
	d.script(`
		INSERT INTO replicas (region, id, face, steady_since) VALUES ('eu', '` + liveLobbyReplica + `', 'realtime', now() - interval '1 day');
		INSERT INTO replicas (region, id, face, steady_since, ended_at, rows_until) VALUES
			('eu', '` + deadLobbyReplica + `', 'realtime', now() - interval '1 day', now() - interval '1 minute', now());
		INSERT INTO projects (id, name, region) VALUES ('p1', 'arena', 'eu'), ('p2', 'quiet', 'us');
		INSERT INTO project_keys (project, id, name, scopes, sealed_secret, sealed_by, tokens_minted) VALUES ('p1', 'k1', 'default', '{token:mint}', '\xdead', 'kek-1', 7);
		INSERT INTO project_keys (project, id, name, scopes, sealed_secret, sealed_by, rotated_from, revoked_at, retires_at) VALUES
			('p1', 'k2', 'default-rotated', '{token:mint}', '\xdead', 'kek-1', 'k0', now() - interval '1 minute', now() + interval '1 hour'),
			('p1', 'k3', 'old', '{}', '\xdead', 'kek-1', NULL, now() - interval '1 minute', now() - interval '1 minute');
		INSERT INTO realtime_sessions (region, id, project, player, authenticated, key_id, ttl, token_digest, owner, epoch) VALUES
			('eu', 's-1', 'p1', 'ann', true, 'k1', '30 seconds', '\xdead', '` + liveLobbyReplica + `', 3),
			('eu', 's-2', 'p1', 's-2', false, NULL, '30 seconds', NULL, '` + deadLobbyReplica + `', 1);
		INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, suspended_at, expires_at) VALUES
			('eu', 's-3', 'p1', 'cid', true, '1 hour', now(), now() + interval '1 hour'),
			('eu', 's-4', 'p1', 'dan', true, '30 seconds', now() - interval '1 minute', now() - interval '30 seconds');
		INSERT INTO lobbies (region, uid, project, id, type, pos, seq, state, members, max_members, grace) VALUES
			('eu', '00000000-0000-0000-0000-0000000000a1', 'p1', 'lobby:default', 'lobby', 9, 4, '{"a":1}', 2, 16, '1 minute');
		INSERT INTO lobbies (region, uid, project, id, type, state, max_members, grace, closes_at) VALUES
			('eu', '00000000-0000-0000-0000-0000000000a2', 'p1', 'lobby:empty', 'lobby', '{}', 16, '1 minute', now() + interval '1 minute');
		INSERT INTO lobbies (region, uid, project, id, type, state, max_members, private, grace, locked, match_id, participants, size, game_region, session_id) VALUES
			('eu', '00000000-0000-0000-0000-0000000000a3', 'p1', 'duel:match:7', 'duel', '{}', 2, true, '0', true, '00000000-0000-0000-0000-00000000cafe', '{s-1}', 2,
			 'us', '00000000-0000-0000-0000-00000000beef');
		INSERT INTO lobby_members (region, lobby, session, player, state, join_order, away, expires_at) VALUES
			('eu', '00000000-0000-0000-0000-0000000000a1', 's-1', 'ann', 'joined', 1, false, NULL),
			('eu', '00000000-0000-0000-0000-0000000000a1', 's-3', 'cid', 'joined', 2, true, NULL),
			('eu', '00000000-0000-0000-0000-0000000000a3', 's-1', 'ann', 'invited', NULL, false, now() + interval '5 minutes');
		INSERT INTO realtime_tickets (region, session, ticket_region, ticket, place, project, player, sub, room_type, size) VALUES
			('eu', 's-1', 'global', 't1', 1, 'p1', 'ann', 'ann', 'duel', 2)`)
}

func TestOpsRealtime(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.lobbyAtWork()
	require.Equal(t, []string{"eu|1|t|2|2|3|2|1|1", "us|0||0|0|0|0|0|0"},
		d.Rows(`SELECT region, replicas, lease_age < '1 hour', connected, suspended, rooms, members, invitations, waiting FROM ops.realtime ORDER BY region`))
	require.Equal(t, []string{"1a|live|1|t", "1b|ended|1|t"},
		d.Rows(`SELECT right(replica::text, 2), state, sessions, lease_age < '1 hour' FROM ops.realtime_replicas ORDER BY 1`))
	require.Empty(t, d.Rows(`SELECT * FROM ops.replicas`), "it shows the replicas of agents")
	require.Equal(t, []string{
		"s-1|p1|ann|connected|3|t|k1|1|1|t1|duel|", "s-2|p1|s-2|cut off|1|f||0|0|||", "s-3|p1|cid|suspended|1|t||1|0|||t", "s-4|p1|dan|expired|1|t||0|0|||f",
	}, d.Rows(`SELECT session, project, player, state, epoch, authenticated, key, rooms, invitations, ticket, waits_for, expires_at > now() FROM ops.realtime_sessions ORDER BY session`))
	require.Equal(t, []string{
		"duel:match:7|duel|0|0|1|2|t|t|1|0|2|cafe|us.00000000-0000-0000-0000-00000000beef|f", "lobby:default|lobby|2|1|0|16|f|f|4|9|7|||f", "lobby:empty|lobby|0|0|0|16|f|f|1|0|2|||t",
	}, d.Rows(`SELECT room, type, members, away, invited, max_members, private, locked, seq, rows_sent, state_bytes, right(match::text, 4), session, closes_at IS NOT NULL
		FROM ops.lobbies ORDER BY room`))
	require.Equal(t, []string{"eu|p1|arena|k1|default|{token:mint}|active|7|", "eu|p1|arena|k2|default-rotated|{token:mint}|retiring|0|k0", "eu|p1|arena|k3|old|{}|revoked|0|"},
		d.Rows(`SELECT region, project, project_name, key, name, scopes, state, tokens_minted, rotated_from FROM ops.project_keys ORDER BY key`))
}

// Pins sessions that operators see as expired during an outage, in which nobody could resume them.
func TestOpsSessionsDoNotExpireWhileNoReplicaIsLive(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.lobbyAtWork()
	d.Exec(`UPDATE replicas SET seen_at = now() - interval '1 hour'`)
	require.Equal(t, []string{"suspended|f"}, d.Rows(`SELECT state, expires_at > now() FROM ops.realtime_sessions WHERE session = 's-4'`))
	d.Exec(`UPDATE replicas SET seen_at = now(), steady_since = now() - interval '1 second' WHERE id = '` + liveLobbyReplica + `'`)
	require.Equal(t, []string{"suspended|t"}, d.Rows(`SELECT state, expires_at > now() FROM ops.realtime_sessions WHERE session = 's-4'`))
}
