-- Who decides for which profile, and which tickets are candidates. What a decision writes is in match.sql.

-- name: RenewLoopWorker :exec
-- The one row that a worker writes while no profile changes hands. weight is what the worker has to decide about, for the
-- share that others leave to it.
INSERT INTO loop_workers (id, lease_until, weight) VALUES (@id, clock_timestamp() + sqlc.arg(lease)::interval, @weight)
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, weight = excluded.weight;

-- name: EndLoopWorker :exec
-- Without a lease, so that others take its profiles at once.
DELETE FROM loop_workers WHERE id = @id OR lease_until < clock_timestamp() - interval '1 minute';

-- name: LoopWorkers :many
-- Every worker whose lease runs.
SELECT w.id, w.weight FROM loop_workers w WHERE w.lease_until > clock_timestamp() ORDER BY w.id;

-- name: OwnedProfiles :many
-- Every profile that is not retired, and whether a worker whose lease runs decides for it.
SELECT p.name, p.live, p.shadow, coalesce(o.worker, '00000000-0000-0000-0000-000000000000')::uuid AS worker,
       coalesce(o.epoch, 0)::bigint AS epoch, (w.id IS NOT NULL)::bool AS owned
FROM profiles p
LEFT JOIN profile_owners o ON o.region = p.region AND o.profile = p.name
LEFT JOIN loop_workers w ON w.id = o.worker AND w.lease_until > clock_timestamp()
WHERE p.region = @region AND p.retired_at IS NULL
ORDER BY p.name;

-- name: TakeProfiles :many
-- Takes those of the profiles that no worker with a running lease owns. It waits for a commit of the former owner, which has
-- locked the row; the commits that follow find the new epoch and fail.
INSERT INTO profile_owners AS o (region, profile, worker)
SELECT @region, n.name, @worker FROM (SELECT unnest(@names::text[]) COLLATE "C" AS name ORDER BY 1) n
ON CONFLICT (region, profile) DO UPDATE SET worker = excluded.worker, epoch = o.epoch + 1, owned_at = now()
WHERE NOT EXISTS (SELECT FROM loop_workers w WHERE w.id = o.worker AND w.lease_until > clock_timestamp())
RETURNING o.profile, o.epoch;

-- name: GiveUpProfile :exec
-- The row stays, since its epoch must only grow.
UPDATE profile_owners o SET worker = '00000000-0000-0000-0000-000000000000'
WHERE o.region = @region AND o.profile = @name AND o.worker = @worker;

-- name: CandidatesAfter :many
-- A page of the queue, in the order of ids.
SELECT t.id, t.created, t.body, coalesce(t.tx, '0')::xid8 AS tx, (t.paused_at IS NOT NULL)::bool AS paused,
       coalesce(t.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, t.matched_in
FROM tickets t
WHERE t.region = @region AND t.id > sqlc.arg(after)::text AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
ORDER BY t.id LIMIT sqlc.arg(page);

-- name: CandidateIDsAfter :many
-- The same page without what a decision needs, to compare with what a worker knows.
SELECT t.id, coalesce(t.tx, '0')::xid8 AS tx FROM tickets t
WHERE t.region = @region AND t.id > sqlc.arg(after)::text AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
ORDER BY t.id LIMIT sqlc.arg(page);

-- name: CandidatesByID :many
SELECT t.id, t.created, t.body, coalesce(t.tx, '0')::xid8 AS tx, (t.paused_at IS NOT NULL)::bool AS paused,
       coalesce(t.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, t.matched_in
FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id) n CROSS JOIN LATERAL (
    SELECT o.* FROM tickets o WHERE o.region = @region AND o.id = n.id AND (o.expires_at IS NULL OR o.expires_at > statement_timestamp()) OFFSET 0) t;

-- name: CandidatesLate :many
-- A page of what became a candidate by transactions that were in progress in the snapshot @before and have committed since.
-- Each is looked up on its own, so that one that stays open for hours costs a lookup and not a scan of all that is younger. The
-- region is compared as an expression, here and below, so that the planner never chooses the primary key.
SELECT t.id, t.created, t.body, t.tx::xid8 AS tx, t.paused::bool AS paused, t.pending_until::timestamptz AS pending_until, t.matched_in
FROM pg_snapshot_xip(sqlc.arg(before)::text::pg_snapshot) p(tx) CROSS JOIN LATERAL (
    SELECT o.id, o.created, o.body, coalesce(o.tx, '0')::xid8 AS tx, (o.paused_at IS NOT NULL)::bool AS paused,
           coalesce(o.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, o.matched_in
    FROM tickets o WHERE o.region || '' = sqlc.arg(region)::text AND o.tx = p.tx OFFSET 0) t
WHERE p.tx > @after::xid8
ORDER BY t.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: CandidatesSince :many
-- A page of what became a candidate by the transactions that began to write at @since or later, all of each transaction.
SELECT t.id, t.created, t.body, coalesce(t.tx, '0')::xid8 AS tx, (t.paused_at IS NOT NULL)::bool AS paused,
       coalesce(t.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, t.matched_in
FROM tickets t
WHERE t.region || '' = sqlc.arg(region)::text AND t.tx >= @since::xid8 ORDER BY t.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: HostRegions :many
-- Game regions that have instances of a mode, and the free seats of the instance that has most.
SELECT m.region, m.mode, coalesce(max(i.capacity - i.reserved_seats) FILTER (WHERE m.bucket < 99 AND i.status = 'ready'
        AND (i.max_sessions IS NULL OR i.open_sessions < i.max_sessions) AND l.heartbeat_at > (SELECT lease_horizon())), 0)::int AS free_seats
FROM instance_modes m
JOIN instances i ON i.region = m.region AND i.id = m.instance_id AND i.status <> 'gone'
LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
WHERE m.mode = ANY (@modes::text[])
GROUP BY m.region, m.mode ORDER BY m.region, m.mode;

-- name: PutDemand :exec
-- What matches of some profiles wait for, in place of what they waited for before. since is kept while a row stays.
WITH wanted AS (
    SELECT unnest(@regions::text[]) AS region, unnest(@modes::text[]) COLLATE "C" AS mode, unnest(@keys::text[]) COLLATE "C" AS key,
           unnest(@matches::int[]) AS matches, unnest(@players::int[]) AS players, unnest(@waits::interval[]) AS waits
), gone AS (
    DELETE FROM demand d USING (
        SELECT o.region, o.mode, o.key FROM demand o
        WHERE split_part(o.key, '/', 1) = ANY (@profiles::text[])
          AND NOT EXISTS (SELECT FROM wanted w WHERE w.region = o.region AND w.mode = o.mode AND w.key = o.key)
        ORDER BY o.region, o.mode, o.key FOR UPDATE) g
    WHERE d.region = g.region AND d.mode = g.mode AND d.key = g.key
)
INSERT INTO demand (region, mode, key, matches, players, since)
SELECT w.region, w.mode, w.key, w.matches, w.players, now() - w.waits FROM wanted w ORDER BY w.region, w.mode, w.key
ON CONFLICT (region, mode, key) DO UPDATE SET matches = excluded.matches, players = excluded.players, updated_at = now();

-- name: MoveTickets :many
-- Tickets that enter a state without leaving the queue: their version grows, and an event tells their players. Tickets that are
-- gone are left out.
WITH held AS MATERIALIZED (
    SELECT l.id, l.version, n.reason FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id, unnest(@reasons::text[]) AS reason ORDER BY 1) n
    CROSS JOIN LATERAL (
        SELECT o.id, o.version FROM tickets o WHERE o.region = @region AND o.id = n.id FOR NO KEY UPDATE) l
), moved AS (
    UPDATE tickets t SET version = t.version + 1 FROM held h WHERE t.region = @region AND t.id = h.id
)
INSERT INTO ticket_events (region, ticket_id, n, state, reason)
SELECT @region, h.id, h.version + 1, sqlc.arg(state)::text, nullif(h.reason, '') FROM held h
RETURNING ticket_id;

-- name: OpenMatches :many
-- Playing matches of these profiles that have free seats on a server which takes players, with the players whose seats they are.
SELECT m.region, m.id, m.profile, m.session_id::uuid AS session_id, m.roster, s.mode, s.opened_at,
       ARRAY(SELECT st.sub FROM seats st WHERE st.region = m.region AND st.session_id = m.session_id ORDER BY st.sub)::text[] AS seated
FROM matches m
JOIN sessions s ON s.region = m.region AND s.id = m.session_id AND s.player_count < s.max_players
WHERE m.universe = @universe AND m.profile = ANY (@profiles::text[]) AND m.state = 'playing'
  AND EXISTS (SELECT FROM live_sessions v WHERE v.region = s.region AND v.id = s.id AND v.instance_status = 'ready')
ORDER BY m.profile, s.opened_at, m.id LIMIT @most;
