-- How many servers does a pool need? db/provision/scale.go computes it from what these read, and db/provision/scale_pool.go carries it out.

-- name: ProvisionRegions :many
SELECT provision_regions()::text AS region;

-- name: ClaimPool :one
-- The pool of a region that was planned longest ago, if that is @every ago. The lock lasts until the plan is carried out, so that one
-- worker at a time starts servers of a pool.
SELECT p.app, p.version, p.min_servers, p.max_servers, p.buffer, p.buffer_percent, p.max_starting, p.empty_ttl, p.surplus_since,
       coalesce(greatest(p.paused_until, v.paused_until, (
           SELECT max(s.until) FROM start_pauses s WHERE s.region = p.region AND s.app = p.app AND s.version = p.version)) > now(), false)::bool AS paused
FROM pools p JOIN app_versions v ON v.app = p.app AND v.version = p.version
WHERE p.region = @region AND p.planned_at <= now() - sqlc.arg(every)::interval
ORDER BY p.planned_at, p.app, p.version LIMIT 1
FOR NO KEY UPDATE OF p SKIP LOCKED;

-- name: SupplyOfPool :one
-- Counts the servers of a pool. Live ones take players, and some of them are busy; coming ones start; draining ones take no players any
-- more but may have some; the others end, or do not answer, and may still run at their provider. Lost ones are among these, without those of
-- operators, which the pool does not end. With the least number of servers now, and the time within which nine of ten of its servers were ready; 0: none is.
SELECT c.live, c.busy, c.coming, c.draining, c.ending, c.lost, c.start_time, m.servers::int AS min_servers, m.cause::text AS min_cause,
       m.is_preparing::bool AS is_preparing FROM (
SELECT count(*) FILTER (WHERE s.live)::int AS live, count(*) FILTER (WHERE s.live AND s.open_sessions > 0)::int AS busy,
       count(*) FILTER (WHERE s.coming)::int AS coming, count(*) FILTER (WHERE s.draining AND NOT s.live)::int AS draining,
       count(*) FILTER (WHERE NOT s.live AND NOT s.coming AND NOT s.draining)::int AS ending, count(*) FILTER (WHERE s.lost)::int AS lost,
       coalesce(percentile_disc(0.9) WITHIN GROUP (ORDER BY s.ready_at - s.created_at) FILTER (WHERE s.ready_at > s.created_at), '0')::interval AS start_time
FROM (
    SELECT d.created_at, d.ready_at, d.desired = 'running' AND d.phase = 'ready' AND d.lost_at IS NULL AND coalesce(i.status = 'ready', false)
               AND coalesce(d.drain_at > now(), true) AS live,
           d.desired = 'running' AND d.phase IN ('wanted', 'deploying', 'starting') AND NOT is_lost(d) AS coming,
           d.desired = 'running' AND is_lost(d) AND d.origin = 'pool' AS lost,
           d.desired = 'running' AND d.phase IN ('ready', 'draining') AND d.lost_at IS NULL AS draining, coalesce(i.open_sessions, 0) AS open_sessions
    FROM deployments d LEFT JOIN instances i ON i.region = d.region AND i.id = d.id::text AND i.status <> 'gone'
    WHERE d.region = @region AND d.app = @app AND d.version = @version) s) c
CROSS JOIN pool_min(@region, @app, @version, now()) m(servers, cause, is_preparing);

-- name: DemandOfPool :many
-- Who waits for servers of a pool, oldest first.
SELECT d.mode, d.source, d.matches, d.since, d.party AS party_size, coalesce(d.party_key, '00000000-0000-0000-0000-000000000000')::uuid AS party_key,
       coalesce(d.max_players, CASE d.source WHEN 'loop' THEN split_part(d.key, '/', 2)::int END, 0)::int AS max_players,
       coalesce(host(d.address), '')::text AS address
FROM pool_modes m JOIN demand d ON d.region = m.region AND d.mode = m.mode
WHERE m.region = @region AND m.app = @app AND m.version = @version AND (d.expires_at IS NULL OR d.expires_at > now())
ORDER BY d.since, d.mode, d.key LIMIT @at_most::int;

-- name: RoomForDemand :many
-- The open sessions that parties of each size fit in, the fullest first, as placement reads them.
WITH wanted AS (
    SELECT unnest(@modes::text[]) AS mode, unnest(@max_players::int[]) AS max_players, unnest(@sizes::int[]) AS size, unnest(@parties::int[]) AS parties
)
SELECT DISTINCT c.id, w.mode::text AS mode, w.max_players::int AS max_players, c.player_count FROM wanted w CROSS JOIN LATERAL (
    SELECT o.id, o.player_count FROM open_sessions o
    WHERE o.region = @region AND o.mode = w.mode AND o.max_players = w.max_players
      AND o.player_count < o.max_players AND o.player_count <= w.max_players - w.size AND o.takes_players
    ORDER BY o.player_count DESC, o.id LIMIT w.parties
) c
ORDER BY 1;

-- name: HostsForDemand :many
-- The instances that sessions for the parties could be opened on, of pools or not, the least loaded first, as placement reads them. Empty
-- ones of this pool count as used when the plan puts a party on them.
WITH wanted AS (
    SELECT unnest(@modes::text[]) AS mode, unnest(@max_players::int[]) AS max_players, unnest(@sessions::int[]) AS sessions
), near AS (
    SELECT DISTINCT c.id FROM wanted w CROSS JOIN LATERAL (
        SELECT h.id FROM open_hosts h
        WHERE h.region = @region AND h.mode = w.mode AND h.free_seats >= w.max_players
        ORDER BY h.bucket LIMIT w.sessions
    ) c
)
SELECT i.id, i.modes, i.capacity, i.reserved_seats, i.max_sessions, i.open_sessions, coalesce(l.load, 0)::float8 AS load,
       (i.open_sessions = 0 AND EXISTS (
            SELECT FROM deployments d WHERE d.region = @region AND d.id = i.deployment_id AND d.app = @app AND d.version = @version
              AND d.desired = 'running' AND d.phase = 'ready' AND d.lost_at IS NULL AND coalesce(d.drain_at > now(), true)))::bool AS unused
FROM near n JOIN instances i ON i.region = @region AND i.id = n.id
LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
ORDER BY i.id;

-- name: LockPoolLimits :one
-- The limits over all pools, locked so that two plans cannot both take the last server. No row: there are none, and nobody waits.
SELECT coalesce(max_servers, -1)::int AS max_servers, coalesce(max_starts, -1)::int AS max_starts FROM pool_limits
WHERE max_servers IS NOT NULL OR max_starts IS NOT NULL FOR UPDATE;

-- name: PoolTotals :one
-- Read it after LockPoolLimits: its snapshot then has what others have started.
SELECT servers, starts FROM pool_totals;

-- name: RecordPlan :one
-- Returns whether the surplus has lasted for long enough to end servers. Adds the servers that players need to the hour, for the forecast. While
-- servers start, or a schedule is prepared, the measured time stays: it decides when they start, and would take that back.
WITH this_hour AS (
    INSERT INTO pool_hours AS h (region, app, version, hour, used) VALUES (@region, @app, @version, date_trunc('hour', now(), 'UTC'), @used)
    ON CONFLICT (region, app, version, hour) DO UPDATE SET used = excluded.used WHERE h.used < excluded.used
    RETURNING h.xmax = 0 AS is_new
), forgotten AS (
    DELETE FROM pool_hours h WHERE h.region = @region AND h.app = @app AND h.version = @version AND h.hour < now() - interval '57 days'
      AND EXISTS (SELECT FROM this_hour t WHERE t.is_new)
)
UPDATE pools p SET planned_at = now(), last_plan = @plan, surplus_since = CASE WHEN @surplus::bool THEN coalesce(p.surplus_since, now()) END,
    start_time = CASE WHEN sqlc.arg(start_time)::interval > '0' AND NOT @keep_start_time::bool THEN sqlc.arg(start_time)::interval ELSE p.start_time END
WHERE p.region = @region AND p.app = @app AND p.version = @version
RETURNING coalesce(p.surplus_since <= now() - sqlc.arg(settle)::interval, false)::bool AS settled;

-- name: DrainEmpty :many
-- Lets no new player onto servers of a pool that have been empty for its empty_ttl, those first that live least long. A reservation locks
-- the instance: either it is seen here, or it sees an instance that drains.
WITH empty AS (
    SELECT d.id, d.ends_at, d.ready_at FROM deployments d JOIN instances i ON i.region = d.region AND i.id = d.id::text
    WHERE d.region = @region AND d.app = @app AND d.version = @version AND d.origin = 'pool'
      AND d.desired = 'running' AND d.phase = 'ready' AND d.lost_at IS NULL AND coalesce(d.drain_at > now(), true)
      AND i.status = 'ready' AND i.open_sessions = 0 AND greatest(i.emptied_at, d.ready_at) <= now() - sqlc.arg(empty_ttl)::interval
    ORDER BY d.ends_at, d.ready_at, d.id LIMIT @at_most
), held AS (
    SELECT i.id FROM instances i
    WHERE i.region = @region AND i.id = ANY (ARRAY(SELECT e.id::text FROM empty e)) AND i.status = 'ready' AND i.open_sessions = 0
    ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE instances i SET status = 'draining' FROM held h WHERE i.region = @region AND i.id = h.id
RETURNING i.id::uuid AS deployment;

-- name: LockDrained :many
-- Servers of a pool that drain, because an operator or the game wants it, and have been empty for the pool's empty_ttl. The locks last until they
-- are stopped, so that nobody lets players onto them again meanwhile.
WITH empty AS (
    SELECT d.id FROM deployments d JOIN instances i ON i.region = d.region AND i.id = d.id::text
    WHERE d.region = @region AND d.app = @app AND d.version = @version AND d.origin = 'pool'
      AND d.desired = 'running' AND d.phase = 'ready' AND d.lost_at IS NULL
      AND i.status = 'draining' AND i.open_sessions = 0 AND greatest(i.emptied_at, d.ready_at) <= now() - sqlc.arg(empty_ttl)::interval
    ORDER BY d.id LIMIT @at_most
)
SELECT i.id::uuid AS deployment FROM instances i
WHERE i.region = @region AND i.id = ANY (ARRAY(SELECT e.id::text FROM empty e)) AND i.status = 'draining' AND i.open_sessions = 0
ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED;

-- name: StopUnstarted :one
-- Ends servers of a pool that have waited for their provider for a while, the newest first. Nothing of them was started: at most @wanted for which
-- the provider has no room, or whose app version is paused; and at most @lost that are lost, and are looked for, so that they end if they turn up.
WITH wanted AS (
    SELECT d.id FROM deployments d
    WHERE d.region = @region AND d.app = @app AND d.version = @version AND d.origin = 'pool' AND d.desired = 'running'
      AND d.phase = 'wanted' AND d.intent_at IS NULL AND d.created_at <= now() - sqlc.arg(settle)::interval
    ORDER BY d.created_at DESC, d.id LIMIT @wanted::int FOR NO KEY UPDATE SKIP LOCKED
), lost AS (
    SELECT d.id FROM deployments d
    WHERE d.region = @region AND d.app = @app AND d.version = @version AND d.origin = 'pool' AND d.desired = 'running'
      AND is_lost(d) AND d.created_at <= now() - sqlc.arg(settle)::interval
    ORDER BY d.created_at DESC, d.id LIMIT @lost::int FOR NO KEY UPDATE SKIP LOCKED
)
SELECT count(*) FILTER (WHERE stop_deployment(@region, w.id, @reason))::int AS stopped
FROM (SELECT n.id FROM wanted n UNION ALL SELECT l.id FROM lost l) w;

-- name: StopDeployments :one
SELECT count(*) FILTER (WHERE stop_deployment(@region, w.id, @reason))::int AS stopped FROM (SELECT unnest(@ids::uuid[]) AS id ORDER BY 1) w;
