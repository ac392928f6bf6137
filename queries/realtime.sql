-- Sessions of the realtime lobby: who owns them, and when they end. A transaction locks the sessions that it changes first, in the order of their
-- ids, and then their rooms. Workers lock with SKIP LOCKED, and so wait for nobody.

-- name: LockRealtimeSessions :many
-- expired means that a suspended session can no longer be resumed, although no worker has ended it. contested: it was taken over in the last ten seconds.
SELECT s.id, s.project, s.player, s.key_id, s.token_digest, s.owner, s.epoch, s.takeovers,
       coalesce(s.expires_at <= clock_timestamp() AND (SELECT realtime_steady_since(sqlc.arg(region))) + s.ttl <= clock_timestamp(), false)::bool AS expired,
       coalesce(s.takeovers_since > clock_timestamp() - interval '10 seconds', false)::bool AS contested
FROM realtime_sessions s
WHERE s.region = @region AND s.id = ANY (@ids::text[])
ORDER BY s.id FOR NO KEY UPDATE;

-- name: JudgeRealtimeKeys :many
-- Returns the known ones of these keys of projects.
SELECT k.project, k.id, k.scopes, coalesce(k.retires_at <= clock_timestamp(), false)::bool AS revoked
FROM (SELECT unnest(@projects::text[]) AS project, unnest(@ids::text[]) AS id) w
JOIN project_keys k ON k.project = w.project AND k.id = w.id;

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
    owner = n.owner, epoch = s.epoch + 1, suspended_at = NULL, expires_at = NULL, announced = true, authenticated = n.authenticated,
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
-- Suspends sessions that the transaction has locked.
UPDATE realtime_sessions s SET owner = NULL, suspended_at = clock_timestamp(), expires_at = clock_timestamp() + s.ttl, announced = n.announced
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@announced::bool[]) AS announced) n
WHERE s.region = @region AND s.id = n.id;

-- name: RoomsOfRealtimeSessions :many
-- The rooms of sessions that the transaction has locked. With @invited the rooms to which they are invited, too.
SELECT m.session, m.lobby, l.project, l.id AS room
FROM lobby_members m JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
WHERE m.region = @region AND m.session = ANY (@sessions::text[]) AND (m.state = 'joined' OR sqlc.arg(invited)::bool)
ORDER BY m.lobby, m.session;

-- name: RealtimeInvitations :many
SELECT m.session, l.uid AS lobby, l.id AS room, l.type, coalesce(l.size, 0)::int AS size, l.participants,
       coalesce(m.invited_by, '')::text AS inviter, coalesce(i.player, '')::text AS inviting_player
FROM lobby_members m JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
LEFT JOIN lobby_members i ON i.region = m.region AND i.lobby = m.lobby AND i.session = m.invited_by
WHERE m.region = @region AND m.session = ANY (@sessions::text[]) AND m.state = 'invited' AND m.expires_at > clock_timestamp()
ORDER BY m.session, m.expires_at, l.id;

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
SELECT region::text AS region FROM realtime_regions() AS r(region) ORDER BY 1;
