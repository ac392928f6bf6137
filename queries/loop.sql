-- Owners of profiles, and the candidates that they decide about. What a decision writes is in match.sql.

-- name: RenewLoopWorker :exec
-- The only row that a worker writes while no profile changes hands. weight is the number of its candidates and profiles, by which
-- workers share the profiles.
INSERT INTO loop_workers (id, lease_until, weight) VALUES (@id, clock_timestamp() + sqlc.arg(lease)::interval, @weight)
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, weight = excluded.weight;

-- name: EndLoopWorker :exec
-- Without the row, other workers take its profiles at once.
DELETE FROM loop_workers WHERE id = @id OR lease_until < clock_timestamp() - interval '1 minute';

-- name: LoopWorkers :many
-- Returns every worker whose lease has not expired.
SELECT w.id, w.weight FROM loop_workers w WHERE w.lease_until > clock_timestamp() ORDER BY w.id;

-- name: OwnedProfiles :many
-- Returns every profile that is not retired, and whether a worker whose lease has not expired owns it.
SELECT p.name, p.live, p.shadow, (p.paused_at IS NOT NULL)::bool AS paused, coalesce(o.worker, '00000000-0000-0000-0000-000000000000')::uuid AS worker,
       coalesce(o.epoch, 0)::bigint AS epoch, (w.id IS NOT NULL)::bool AS owned
FROM profiles p
LEFT JOIN profile_owners o ON o.region = p.region AND o.profile = p.name
LEFT JOIN loop_workers w ON w.id = o.worker AND w.lease_until > clock_timestamp()
WHERE p.region = @region AND p.retired_at IS NULL AND NOT region_refuses_writes(p.region)
ORDER BY p.name;

-- name: AnyOwner :one
-- Reports whether a worker decides for a profile of the region.
SELECT EXISTS (SELECT FROM profile_owners o JOIN loop_workers w ON w.id = o.worker AND w.lease_until > clock_timestamp()
    WHERE o.region = @region)::bool AS any;

-- name: TakeProfiles :many
-- Takes the profiles that no worker with an unexpired lease owns. It waits for a commit of the former owner, which has
-- locked the row; the commits that follow find the new epoch and fail.
INSERT INTO profile_owners AS o (region, profile, worker)
SELECT @region, n.name, @worker FROM (SELECT unnest(@names::text[]) COLLATE "C" AS name ORDER BY 1) n
ON CONFLICT (region, profile) DO UPDATE SET worker = excluded.worker, epoch = o.epoch + 1, owned_at = now()
WHERE NOT EXISTS (SELECT FROM loop_workers w WHERE w.id = o.worker AND w.lease_until > clock_timestamp())
RETURNING o.profile, o.epoch;

-- name: GiveUpProfile :exec
-- The row is kept, since its epoch must never decrease.
UPDATE profile_owners o SET worker = '00000000-0000-0000-0000-000000000000'
WHERE o.region = @region AND o.profile = @name AND o.worker = @worker;

-- name: CandidatesAfter :many
-- Returns a page of the queue, by id.
SELECT t.id, t.created, t.body, coalesce(t.tx, '0')::xid8 AS tx, (t.paused_at IS NOT NULL)::bool AS paused,
       coalesce(t.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, t.matched_in,
       coalesce(t.seen_at, 'epoch')::timestamptz AS seen_at
FROM tickets t
WHERE t.region = @region AND t.id > sqlc.arg(after)::text AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
ORDER BY t.id LIMIT sqlc.arg(page);

-- name: NewestCandidates :many
-- Returns the newest tickets of the queue, with which a worker begins.
SELECT t.id, t.created, t.body, coalesce(t.tx, '0')::xid8 AS tx, (t.paused_at IS NOT NULL)::bool AS paused,
       coalesce(t.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, t.matched_in,
       coalesce(t.seen_at, 'epoch')::timestamptz AS seen_at
FROM tickets t
WHERE t.region = @region AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
ORDER BY t.id DESC LIMIT sqlc.arg(most);

-- name: CandidateIDsAfter :many
-- Returns the same page without bodies, to compare it with the tickets in a worker's memory.
SELECT t.id, coalesce(t.tx, '0')::xid8 AS tx FROM tickets t
WHERE t.region = @region AND t.id > sqlc.arg(after)::text AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
ORDER BY t.id LIMIT sqlc.arg(page);

-- name: CandidatesByID :many
SELECT t.id, t.created, t.body, coalesce(t.tx, '0')::xid8 AS tx, (t.paused_at IS NOT NULL)::bool AS paused,
       coalesce(t.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, t.matched_in,
       coalesce(t.seen_at, 'epoch')::timestamptz AS seen_at
FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id) n CROSS JOIN LATERAL (
    SELECT o.* FROM tickets o WHERE o.region = @region AND o.id = n.id AND (o.expires_at IS NULL OR o.expires_at > statement_timestamp()) OFFSET 0) t;

-- name: CandidatesLate :many
-- Returns a page of the tickets that became candidates in transactions that were in progress in the snapshot @before and have
-- committed since. Each transaction is looked up by itself, so that one that stays open for hours costs one lookup. The
-- region is compared as an expression, here and below, so that the planner never chooses the primary key.
SELECT t.id, t.created, t.body, t.tx::xid8 AS tx, t.paused::bool AS paused, t.pending_until::timestamptz AS pending_until, t.matched_in,
       t.seen_at::timestamptz AS seen_at
FROM pg_snapshot_xip(sqlc.arg(before)::text::pg_snapshot) p(tx) CROSS JOIN LATERAL (
    SELECT o.id, o.created, o.body, coalesce(o.tx, '0')::xid8 AS tx, (o.paused_at IS NOT NULL)::bool AS paused,
           coalesce(o.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, o.matched_in,
           coalesce(o.seen_at, 'epoch')::timestamptz AS seen_at
    FROM tickets o WHERE o.region || '' = sqlc.arg(region)::text AND o.tx = p.tx OFFSET 0) t
WHERE p.tx > @after::xid8
ORDER BY t.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: CandidatesSince :many
-- Returns a page of the tickets that became candidates in transactions from @since on. A page has all tickets of a transaction.
SELECT t.id, t.created, t.body, coalesce(t.tx, '0')::xid8 AS tx, (t.paused_at IS NOT NULL)::bool AS paused,
       coalesce(t.pending_at + sqlc.arg(pending_for)::interval, 'epoch')::timestamptz AS pending_until, t.matched_in,
       coalesce(t.seen_at, 'epoch')::timestamptz AS seen_at
FROM tickets t
WHERE t.region || '' = sqlc.arg(region)::text AND t.tx >= @since::xid8 ORDER BY t.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES;

-- name: RecordSeen :exec
-- Records when a worker first had tickets as candidates that still wait. It skips tickets that another transaction has locked: most of
-- them are about to leave.
WITH held AS MATERIALIZED (
    SELECT l.region, l.id, w.seen_at FROM (SELECT unnest(@ids::text[]) COLLATE "C" AS id, unnest(@seen_at::timestamptz[]) AS seen_at ORDER BY 1) w
    CROSS JOIN LATERAL (
        SELECT o.region, o.id FROM tickets o WHERE o.region = @universe AND o.id = w.id AND o.seen_at IS NULL FOR NO KEY UPDATE SKIP LOCKED) l
)
UPDATE tickets t SET seen_at = h.seen_at FROM held h WHERE t.region = h.region AND t.id = h.id;

-- name: RecordLeavingSeen :exec
-- Records in the history when a worker learned that tickets had left, once. They left within the last hour, so that few partitions are
-- read. Matched tickets have a time already: that of their match. Each is looked up by its key.
UPDATE ticket_history h SET seen_at = coalesce(h.seen_at, w.seen_at), left_seen_at = w.left_seen_at
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@seen_at::timestamptz[]) AS seen_at, unnest(@left_seen_at::timestamptz[]) AS left_seen_at) w
WHERE h.region = @universe AND h.id = ANY (ARRAY[w.id]) AND h.left_seen_at IS NULL AND h.outcome <> 'assigned'
  AND h.left_at > statement_timestamp() - interval '1 hour' AND h.left_at < statement_timestamp() + interval '1 day';

-- name: HostRegions :many
-- Returns the game regions that have instances of a mode, with the free seats of the instance that has most, and of all of them. A region
-- whose pool could start some is one of them, without free seats: matches wait there, and their demand starts servers.
SELECT f.region, f.mode, max(f.free)::int AS free_seats, sum(f.free)::bigint AS all_free_seats FROM (
    SELECT m.region, m.mode, CASE WHEN m.bucket < 99 AND i.status = 'ready' AND (i.max_sessions IS NULL OR i.open_sessions < i.max_sessions)
               AND l.heartbeat_at > (SELECT lease_horizon()) THEN greatest(i.capacity - i.reserved_seats, 0) ELSE 0 END AS free
    FROM instance_modes m
    JOIN instances i ON i.region = m.region AND i.id = m.instance_id AND i.status <> 'gone'
    LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE m.mode = ANY (@modes::text[])
    UNION ALL
    SELECT m.region, m.mode, 0 FROM pool_modes m JOIN pools p ON p.region = m.region AND p.app = m.app AND p.version = m.version
    WHERE m.mode = ANY (@modes::text[]) AND p.max_servers > 0) f
GROUP BY f.region, f.mode ORDER BY f.region, f.mode;

-- name: PutDemand :exec
-- Replaces the demand of these profiles. A row that remains keeps its since. Rows of retired profiles, which have no owner, are
-- deleted too. A key is profile/seats/universe; the previous release wrote no universe; a row of any universe replaces such a row.
WITH wanted AS (
    SELECT unnest(@regions::text[]) AS region, unnest(@modes::text[]) COLLATE "C" AS mode, unnest(@keys::text[]) COLLATE "C" AS key,
           unnest(@matches::int[]) AS matches, unnest(@players::int[]) AS players, unnest(@waits::interval[]) AS waits
), gone AS (
    DELETE FROM demand d USING (
        SELECT o.region, o.mode, o.key FROM demand o
        WHERE (split_part(o.key, '/', 1) = ANY (@profiles::text[])
               OR NOT EXISTS (SELECT FROM profiles p WHERE p.region = sqlc.arg(universe)::text AND p.name = split_part(o.key, '/', 1) AND p.retired_at IS NULL))
          AND o.source = 'loop' AND split_part(o.key, '/', 3) IN ('', sqlc.arg(universe)::text)
          AND NOT EXISTS (SELECT FROM wanted w WHERE w.region = o.region AND w.mode = o.mode AND w.key = o.key)
        ORDER BY o.region, o.mode, o.key FOR UPDATE) g
    WHERE d.region = g.region AND d.mode = g.mode AND d.key = g.key
)
INSERT INTO demand (region, mode, key, matches, players, since)
SELECT w.region, w.mode, w.key, w.matches, w.players, now() - w.waits FROM wanted w ORDER BY w.region, w.mode, w.key
ON CONFLICT (region, mode, key) DO UPDATE SET matches = excluded.matches, players = excluded.players, updated_at = now();

-- name: PutProfileStats :exec
-- Replaces the waiting times of the profiles @all.
WITH wanted AS (
    SELECT unnest(@profiles::text[]) COLLATE "C" AS profile, unnest(@deciles::smallint[]) AS decile, unnest(@upto::float8[]) AS upto,
           unnest(@p50::interval[]) AS p50, unnest(@p90::interval[]) AS p90, unnest(@samples::int[]) AS samples
), gone AS (
    DELETE FROM profile_stats s USING (
        SELECT o.profile, o.decile FROM profile_stats o
        WHERE o.region = @region AND o.profile = ANY (sqlc.arg('all')::text[])
          AND NOT EXISTS (SELECT FROM wanted w WHERE w.profile = o.profile AND w.decile = o.decile)
        ORDER BY o.profile, o.decile FOR UPDATE) g
    WHERE s.region = @region AND s.profile = g.profile AND s.decile = g.decile
)
INSERT INTO profile_stats (region, profile, decile, upto, p50, p90, samples)
SELECT @region, w.profile, w.decile, w.upto, w.p50, w.p90, w.samples FROM wanted w ORDER BY w.profile, w.decile
ON CONFLICT (region, profile, decile) DO UPDATE SET upto = excluded.upto, p50 = excluded.p50, p90 = excluded.p90, samples = excluded.samples,
    updated_at = now();

-- name: CountEstimates :exec
-- Adds waits to the present hour, and forgets hours that no view shows.
WITH forgotten AS (
    DELETE FROM estimate_hours e WHERE e.region = @region AND e.profile = ANY (@profiles::text[]) AND e.hour < now() - interval '48 hours'
)
INSERT INTO estimate_hours AS h (region, profile, hour, waits, before_p50, before_p90)
SELECT @region, n.profile, date_trunc('hour', now(), 'UTC'), n.waits, n.before_p50, n.before_p90
FROM (SELECT unnest(@profiles::text[]) AS profile, unnest(@waits::int[]) AS waits, unnest(@before_p50::int[]) AS before_p50,
             unnest(@before_p90::int[]) AS before_p90) n
ORDER BY n.profile
ON CONFLICT (region, profile, hour) DO UPDATE SET waits = h.waits + excluded.waits, before_p50 = h.before_p50 + excluded.before_p50,
    before_p90 = h.before_p90 + excluded.before_p90;

-- name: SetTicketState :many
-- Records a state of tickets that stay in the queue: increments their version and inserts an event. It skips tickets that have left.
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
-- Returns the oldest @most playing matches of each profile that have free seats on a server that accepts players, and the players with seats.
SELECT o.region, o.id, o.profile, o.session_id, o.roster, o.mode, o.opened_at, o.seated
FROM unnest(@profiles::text[]) AS p(name) CROSS JOIN LATERAL (
    SELECT m.region, m.id, m.profile, m.session_id::uuid AS session_id, m.roster, s.mode, s.opened_at,
           ARRAY(SELECT st.sub FROM seats st WHERE st.region = m.region AND st.session_id = m.session_id ORDER BY st.sub)::text[] AS seated
    FROM matches m
    JOIN sessions s ON s.region = m.region AND s.id = m.session_id AND s.player_count < s.max_players
    WHERE m.universe = @universe AND m.profile = p.name AND m.state = 'playing'
      AND EXISTS (SELECT FROM live_sessions v WHERE v.region = s.region AND v.id = s.id AND v.instance_status = 'ready')
    ORDER BY s.opened_at, m.id LIMIT @most) o
ORDER BY o.profile, o.opened_at, o.id;
