-- Sessions of the realtime lobby: who owns them, and when they end. A transaction locks the sessions that it changes first, in the order of their
-- ids, and then their rooms. Workers lock with SKIP LOCKED, and so wait for nobody.

-- name: LockRealtimeSessions :many
-- expired means that a suspended session can no longer be resumed, although no worker has ended it. contested: it was taken over in the last ten
-- seconds. heard_at: when its client was last heard of, or earlier. That of a session that is taken over may have been silent for 30 seconds: after
-- that, a replica closes a connection.
SELECT s.id, s.project, s.player, s.key_id, s.token_digest, s.owner, s.epoch, s.takeovers,
       coalesce(s.expires_at <= clock_timestamp() AND (SELECT realtime_steady_since(sqlc.arg(region))) + s.ttl <= clock_timestamp(), false)::bool AS expired,
       coalesce(s.takeovers_since > clock_timestamp() - interval '10 seconds', false)::bool AS contested,
       (CASE WHEN s.owner IS NULL THEN coalesce(s.heard_at, s.suspended_at)
             ELSE least(r.seen_at, clock_timestamp()) - interval '30 seconds' END)::timestamptz AS heard_at
FROM realtime_sessions s LEFT JOIN replicas r ON r.region = s.region AND r.id = s.owner
WHERE s.region = @region AND s.id = ANY (@ids::text[])
ORDER BY s.id FOR NO KEY UPDATE OF s;

-- name: JudgeRealtimeKeys :many
-- Returns the known ones of these keys of projects, with the number of their sessions, counted up to @most.
SELECT k.project, k.id, k.scopes, coalesce(k.retires_at <= clock_timestamp(), false)::bool AS revoked,
       (SELECT count(*) FROM (SELECT FROM realtime_sessions s WHERE s.region = @region AND s.project = k.project AND s.key_id = k.id
                              LIMIT sqlc.arg(most)::int) c)::int AS sessions
FROM (SELECT unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id) w
JOIN project_keys k ON k.project = w.project AND k.id = w.id;

-- name: SessionsOfPlayers :many
-- Returns the number of sessions of players, counted up to @most.
SELECT w.project::text AS project, w.player::text AS player,
       (SELECT count(*) FROM (SELECT FROM realtime_sessions s WHERE s.region = @region AND s.project = w.project AND s.player = w.player
                              LIMIT sqlc.arg(most)::int) c)::int AS sessions
FROM (SELECT unnest(@projects::text[]) COLLATE "C" AS project, unnest(@players::text[]) COLLATE "C" AS player) w;

-- name: InsertRealtimeSessions :exec
INSERT INTO realtime_sessions (region, id, project, player, authenticated, key_id, token_digest, token_expires, ttl, owner)
SELECT @region, n.id, n.project, n.player, n.authenticated, nullif(n.key_id, ''), nullif(n.digest, ''),
       CASE WHEN n.expires > '0001-01-01 00:00:00+00' THEN n.expires END, n.ttl, n.owner
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@projects::text[]) AS project, unnest(@players::text[]) AS player,
             unnest(@authenticated::bool[]) AS authenticated, unnest(@key_ids::text[]) AS key_id, unnest(@digests::bytea[]) AS digest,
             unnest(@expires::timestamptz[]) AS expires, unnest(@ttls::interval[]) AS ttl, unnest(@owners::uuid[]) AS owner) n;

-- name: AttachRealtimeSessions :exec
-- Gives sessions that the transaction has locked a new owner. took_over: another connection held the session.
UPDATE realtime_sessions s SET
    owner = n.owner, epoch = s.epoch + 1, suspended_at = NULL, heard_at = NULL, expires_at = NULL, announced = true, authenticated = n.authenticated,
    key_id = nullif(n.key_id, ''), token_digest = nullif(n.digest, ''),
    token_expires = CASE WHEN n.expires > '0001-01-01 00:00:00+00' THEN n.expires END, ttl = n.ttl,
    takeovers = CASE WHEN NOT n.took_over THEN s.takeovers WHEN s.takeovers_since > clock_timestamp() - interval '10 seconds' THEN s.takeovers + 1 ELSE 1 END,
    takeovers_since = CASE WHEN n.took_over AND s.takeovers_since > clock_timestamp() - interval '10 seconds' IS NOT TRUE THEN clock_timestamp()
                           ELSE s.takeovers_since END
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@authenticated::bool[]) AS authenticated, unnest(@key_ids::text[]) AS key_id,
             unnest(@digests::bytea[]) AS digest, unnest(@expires::timestamptz[]) AS expires, unnest(@ttls::interval[]) AS ttl,
             unnest(@owners::uuid[]) AS owner, unnest(@took_over::bool[]) AS took_over) n
WHERE s.region = @region AND s.id = n.id;

-- name: SuspendRealtimeSessions :exec
-- Suspends sessions that the transaction has locked, whose clients were last heard of so long ago. Those of a replica that has ended were heard of
-- when that renewed its lease last.
UPDATE realtime_sessions s SET owner = NULL, suspended_at = clock_timestamp(), expires_at = clock_timestamp() + s.ttl, announced = n.announced,
    heard_at = coalesce((SELECT r.seen_at FROM replicas r WHERE r.region = s.region AND r.id = s.owner AND r.ended_at IS NOT NULL), clock_timestamp())
               - n.silence
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@announced::bool[]) AS announced, unnest(@silences::interval[]) AS silence) n
WHERE s.region = @region AND s.id = n.id;

-- name: RoomsOfRealtimeSessions :many
-- The rooms of sessions that the transaction has locked. With @invited the rooms to which they are invited, too.
SELECT m.session, m.lobby, l.project, l.id AS room
FROM lobby_members m JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
WHERE m.region = @region AND m.session = ANY (@sessions::text[]) AND (m.state = 'joined' OR sqlc.arg(invited)::bool)
ORDER BY m.lobby, m.session;

-- name: MissedMessages :many
-- The rows with messages that were written in rooms of sessions since a time, each as many of the last ones as have up to so many bytes.
SELECT w.session::text AS session, g.lobby, g.pos, g.at, g.body
FROM (SELECT unnest(@sessions::text[]) COLLATE "C" AS session, unnest(@since::timestamptz[]) AS since) w
JOIN lobby_members m ON m.region = @region AND m.session = w.session AND m.state = 'joined'
CROSS JOIN LATERAL (
    SELECT b.lobby, b.pos, b.at, b.body FROM (
        SELECT o.lobby, o.pos, o.at, o.body, sum(octet_length(o.body)) OVER (ORDER BY o.pos DESC) AS bytes FROM (
            SELECT k.lobby, k.pos, k.at, k.body FROM lobby_log k WHERE k.region = @region AND k.lobby = m.lobby
            ORDER BY k.pos DESC LIMIT sqlc.arg(most_rows)::int) o
        WHERE o.at > w.since AND (o.body LIKE '%"k":"message"%' OR o.body LIKE '%"k":"bytes"%')) b
    WHERE b.bytes <= sqlc.arg(most_bytes)::bigint) g
ORDER BY w.session, g.lobby, g.pos;

-- name: RealtimeInvitations :many
-- The rooms to which sessions are invited, and those to which their players are and of which the sessions are no members. Of a match that its player
-- is in, a session hears if it is one of @opened, or if no session that has the place is connected.
SELECT o.session, l.uid AS lobby, l.id AS room, l.type, coalesce(l.size, 0)::int AS size, l.participants, o.inviter::text AS inviter,
       o.inviting_player::text AS inviting_player
FROM (
    SELECT m.session, m.player, m.lobby, m.expires_at, coalesce(m.invited_by, '') AS inviter, coalesce(i.player, '') AS inviting_player, true AS heard
    FROM lobby_members m
    LEFT JOIN lobby_members i ON i.region = m.region AND i.lobby = m.lobby AND i.session = m.invited_by
    WHERE m.region = @region AND m.session = ANY (@sessions::text[]) AND m.state = 'invited' AND m.expires_at > clock_timestamp()
    UNION ALL
    SELECT s.id, s.player, i.lobby, i.expires_at, coalesce(i.invited_by, ''), coalesce(i.inviting_player, ''),
           i.inviting_player IS NOT NULL OR s.id = ANY (@opened::text[]) OR NOT EXISTS (
               SELECT FROM lobbies k JOIN realtime_sessions p ON p.region = k.region AND p.id = ANY (k.participants)
               WHERE k.region = @region AND k.uid = i.lobby AND p.player = s.player AND p.owner IS NOT NULL)
    FROM realtime_sessions s CROSS JOIN LATERAL (
        SELECT v.lobby, v.expires_at, v.invited_by, v.inviting_player FROM lobby_invitations v
        WHERE v.region = @region AND v.project = s.project AND v.player = s.player AND v.answered_at IS NULL AND v.expires_at > clock_timestamp()
        OFFSET 0) i
    WHERE s.region = @region AND s.id = ANY (@sessions::text[])
      AND NOT EXISTS (
          SELECT FROM lobby_members m WHERE m.region = @region AND m.lobby = i.lobby AND m.session = s.id
            AND (m.state = 'joined' OR m.expires_at > clock_timestamp()))
) o JOIN lobbies l ON l.region = @region AND l.uid = o.lobby
WHERE o.heard AND (l.game_region IS NULL OR l.session_id IS NOT NULL) AND NOT EXISTS (
    SELECT FROM player_blocks b WHERE b.region = @region AND b.project = l.project AND b.player = o.player AND b.blocked = o.inviting_player)
ORDER BY o.session, o.expires_at, l.id;

-- name: RealtimeNews :many
-- Of sessions with the epochs that a replica knows, those that it no longer owns, and those whose key is revoked.
SELECT n.id::text AS id, ((s.owner = @replica::uuid AND s.epoch = n.epoch) IS NOT TRUE)::bool AS superseded,
       coalesce(k.retires_at <= clock_timestamp(), false)::bool AS revoked
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@epochs::bigint[]) AS epoch) n
LEFT JOIN realtime_sessions s ON s.region = @region AND s.id = n.id
LEFT JOIN project_keys k ON k.project = s.project AND k.id = s.key_id
WHERE (s.owner = @replica::uuid AND s.epoch = n.epoch) IS NOT TRUE OR k.retires_at <= clock_timestamp();

-- name: OwnedRealtime :many
SELECT s.id, s.epoch FROM realtime_sessions s
WHERE s.region = @region AND s.owner = @replica::uuid AND s.id > sqlc.arg(after)::text
ORDER BY s.id LIMIT sqlc.arg(page)::bigint;

-- name: SessionsOfEndedReplicas :many
-- Locks sessions whose replica has ended, or has no row, as in a database that was restored in parts. It finds each owner by one step in an index.
-- The result is not ordered: the statement waits for no lock.
WITH RECURSIVE o AS (
    SELECT '00000000-0000-0000-0000-000000000000'::uuid AS owner
    UNION ALL
    SELECT (SELECT n.owner FROM realtime_sessions n WHERE n.region = @region AND n.owner > o.owner ORDER BY n.owner LIMIT 1)
    FROM o WHERE o.owner IS NOT NULL
)
SELECT s.id FROM o CROSS JOIN LATERAL (
    SELECT x.id FROM realtime_sessions x WHERE x.region = @region AND x.owner = o.owner
    LIMIT sqlc.arg(most)::bigint FOR NO KEY UPDATE SKIP LOCKED) s
WHERE NOT EXISTS (SELECT FROM replicas r WHERE r.region = @region AND r.id = o.owner AND r.ended_at IS NULL)
LIMIT sqlc.arg(most)::bigint;

-- name: SessionsToAnnounce :many
-- Locks sessions that were suspended five seconds ago and whose rooms do not know it. After an outage of all replicas, clients get these seconds
-- from the time at which they can connect again.
SELECT s.id FROM realtime_sessions s
WHERE s.region = @region AND NOT s.announced AND s.suspended_at <= statement_timestamp() - interval '5 seconds'
  AND (SELECT realtime_steady_since(sqlc.arg(region))) <= statement_timestamp() - interval '5 seconds'
LIMIT sqlc.arg(most)::bigint
FOR NO KEY UPDATE SKIP LOCKED;

-- name: AnnounceRealtimeSessions :exec
UPDATE realtime_sessions s SET announced = true WHERE s.region = @region AND s.id = ANY (@ids::text[]);

-- name: SessionsToEnd :many
-- Locks sessions that can no longer be resumed: see LockRealtimeSessions.
SELECT s.id FROM realtime_sessions s
WHERE s.region = @region AND s.expires_at <= statement_timestamp()
  AND (SELECT realtime_steady_since(sqlc.arg(region))) + s.ttl <= statement_timestamp()
LIMIT sqlc.arg(most)::bigint
FOR UPDATE SKIP LOCKED;

-- name: DeleteRealtimeSessions :exec
DELETE FROM realtime_sessions s WHERE s.region = @region AND s.id = ANY (@ids::text[]);

-- name: RealtimeRegions :many
SELECT r.region::text AS region, NOT EXISTS (SELECT FROM realtime_sessions s WHERE s.region = r.region) AS has_only_replicas
FROM realtime_regions() AS r(region) ORDER BY 1;
