-- What operators declare: app versions say how a game server is started, pools how many of them a region has.

-- name: GetAppVersion :one
SELECT app, version, provider, launch, launch_version, ports, game_port, endpoint, modes, capacity, max_sessions, max_players, env, cpu_units, memory_mib,
       start_within, register_within, grace, max_lifetime, drain_ahead, coalesce(dialect, '') AS dialect, coalesce(protocol_id, '') AS protocol_id,
       digest_required, coalesce(compat, '') AS compat, fallback, (used_at IS NOT NULL)::bool AS used, applied_at
FROM app_versions WHERE app = @app AND version = @version;

-- name: LockDeclarations :exec
-- Changes of app versions and pools come one after the other. Take it before the locks of rows.
SELECT pg_advisory_xact_lock(hashtext('director.pools'));

-- name: LockPools :exec
-- Before all other rows, as a plan of a pool does: see 00026.
SELECT 1 FROM pools
WHERE (region, app, version) IN (SELECT unnest(@regions::text[]), unnest(@apps::text[]), unnest(@versions::text[]))
ORDER BY region, app, version FOR UPDATE;

-- name: LockAppVersions :exec
SELECT 1 FROM app_versions
WHERE (app, version) IN (SELECT unnest(@apps::text[]), unnest(@versions::text[]))
ORDER BY app, version FOR NO KEY UPDATE;

-- name: ListAppVersions :many
SELECT app, version, provider, launch, launch_version, ports, game_port, endpoint, modes, capacity, max_sessions, max_players, env, cpu_units, memory_mib,
       start_within, register_within, grace, max_lifetime, drain_ahead, coalesce(dialect, '') AS dialect, coalesce(protocol_id, '') AS protocol_id,
       digest_required, coalesce(compat, '') AS compat, fallback, (used_at IS NOT NULL)::bool AS used, applied_at
FROM app_versions ORDER BY app, version;

-- name: ListPools :many
-- Of all regions for ''. servers are those that may have or get players.
SELECT p.region, p.app, p.version, p.min_servers, p.max_servers, p.buffer, p.buffer_percent, p.max_starting, p.empty_ttl, p.latitude, p.longitude, p.networks,
       p.paused_until, coalesce(p.pause_reason, '') AS pause_reason, p.last_plan, p.zone, p.forecast,
       coalesce((SELECT jsonb_agg(jsonb_build_object('zone', s.zone, 'days', s.days, 'start_on', s.start_on, 'end_on', s.end_on,
               'start_at', left(s.start_at::text, 5), 'end_at', left(s.end_at::text, 5), 'min', s.min_servers) ORDER BY s.entry)
           FROM pool_schedules s WHERE s.region = p.region AND s.app = p.app AND s.version = p.version), '[]')::jsonb AS schedule,
       greatest(p.planned_at, 'epoch')::timestamptz AS planned_at,
       ARRAY(SELECT m.mode FROM pool_modes m WHERE m.region = p.region AND m.app = p.app AND m.version = p.version ORDER BY m.mode)::text[] AS modes,
       (SELECT count(*) FROM deployments d WHERE d.region = p.region AND d.app = p.app AND d.version = p.version
          AND d.desired = 'running' AND d.phase IN ('wanted', 'deploying', 'starting', 'ready'))::int AS servers
FROM pools p WHERE sqlc.arg(region)::text = '' OR p.region = sqlc.arg(region)::text
ORDER BY p.region, p.app, p.version;

-- name: ListPoolModes :many
SELECT region, mode, app, version FROM pool_modes ORDER BY region, mode;

-- name: SaveAppVersion :exec
-- A change ends the pauses in all regions, since what failed may be right now.
WITH resumed AS (
    DELETE FROM start_pauses s WHERE s.app = @app AND s.version = @version
)
INSERT INTO app_versions AS v (app, version, provider, launch, launch_version, ports, game_port, endpoint, modes, capacity, max_sessions, max_players, env,
                               cpu_units, memory_mib, start_within, register_within, grace, max_lifetime, drain_ahead, dialect, protocol_id, digest_required, compat, fallback)
VALUES (@app, @version, @provider, @launch, @launch_version, @ports, @game_port, @endpoint, @modes, @capacity, sqlc.narg(max_sessions), @max_players, @env,
        @cpu_units, @memory_mib, @start_within, @register_within, @grace, @max_lifetime, @drain_ahead, nullif(@dialect::text, ''), nullif(@protocol_id::text, ''),
        @digest_required, nullif(@compat::text, ''), sqlc.narg(fallback))
ON CONFLICT (app, version) DO UPDATE
SET provider = excluded.provider, launch = excluded.launch, launch_version = excluded.launch_version, ports = excluded.ports, game_port = excluded.game_port,
    endpoint = excluded.endpoint, modes = excluded.modes, capacity = excluded.capacity, max_sessions = excluded.max_sessions, max_players = excluded.max_players,
    env = excluded.env, cpu_units = excluded.cpu_units, memory_mib = excluded.memory_mib, start_within = excluded.start_within,
    register_within = excluded.register_within, grace = excluded.grace, max_lifetime = excluded.max_lifetime, drain_ahead = excluded.drain_ahead,
    dialect = excluded.dialect, protocol_id = excluded.protocol_id, digest_required = excluded.digest_required, compat = excluded.compat,
    fallback = excluded.fallback,
    failures = 0, paused_until = NULL, pause_reason = NULL, applied_at = now();

-- name: SavePool :exec
INSERT INTO pools AS p (region, app, version, min_servers, max_servers, buffer, buffer_percent, max_starting, empty_ttl, latitude, longitude, networks, zone, forecast)
VALUES (@region, @app, @version, @min_servers, @max_servers, @buffer, @buffer_percent, @max_starting, @empty_ttl, sqlc.narg(latitude), sqlc.narg(longitude), @networks,
        @zone, @forecast)
ON CONFLICT (region, app, version) DO UPDATE
SET min_servers = excluded.min_servers, max_servers = excluded.max_servers, buffer = excluded.buffer, buffer_percent = excluded.buffer_percent,
    max_starting = excluded.max_starting, empty_ttl = excluded.empty_ttl, latitude = excluded.latitude, longitude = excluded.longitude, networks = excluded.networks,
    zone = excluded.zone, forecast = excluded.forecast;

-- name: DeletePoolSchedules :exec
DELETE FROM pool_schedules WHERE region = @region AND app = @app AND version = @version;

-- name: InsertPoolSchedule :exec
INSERT INTO pool_schedules (region, app, version, entry, title, zone, days, start_on, end_on, start_at, end_at, min_servers)
VALUES (@region, @app, @version, @entry, @title, @zone, sqlc.arg(days)::int[], nullif(@start_on::text, '')::date, nullif(@end_on::text, '')::date,
        (sqlc.arg(start_at)::text)::time, (sqlc.arg(end_at)::text)::time, @min_servers);

-- name: InheritPoolHours :exec
-- A pool that gets the modes of another one gets what is known of their players and of the start of servers, too.
WITH moved AS (
    DELETE FROM pool_hours h WHERE h.region = @region AND h.app = @app AND h.version = @from_version RETURNING h.hour, h.used
), timed AS (
    UPDATE pools p SET start_time = f.start_time FROM pools f
    WHERE p.region = @region AND p.app = @app AND p.version = @version AND p.start_time IS NULL
      AND f.region = @region AND f.app = @app AND f.version = @from_version
)
INSERT INTO pool_hours AS h (region, app, version, hour, used)
SELECT @region, @app, @version, m.hour, m.used FROM moved m
ON CONFLICT (region, app, version, hour) DO UPDATE SET used = greatest(h.used, excluded.used);

-- name: ListTimeZones :many
-- Postgres also takes abbreviations and POSIX rules for zones, whose clocks are not put forward and back when those of players are.
SELECT n.name::text AS name FROM pg_timezone_names() n(name, abbreviation, utc_offset, is_dst) ORDER BY n.name;

-- name: DeletePoolModes :exec
DELETE FROM pool_modes WHERE region = @region AND app = @app AND version = @version AND NOT mode = ANY (@keep::text[]);

-- name: InsertPoolModes :exec
INSERT INTO pool_modes (region, mode, app, version)
SELECT @region, unnest(@modes::text[]), @app, @version
ON CONFLICT DO NOTHING;

-- name: MovePoolModes :many
UPDATE pool_modes SET version = @version WHERE region = @region AND app = @app AND version = @from_version RETURNING mode;

-- name: DeletePool :exec
DELETE FROM pools WHERE region = @region AND app = @app AND version = @version;

-- name: DeleteUnusedAppVersion :exec
-- Keeps a version of which a pool or a server is left.
DELETE FROM app_versions v WHERE v.app = @app AND v.version = @version
  AND NOT EXISTS (SELECT FROM pools p WHERE p.app = v.app AND p.version = v.version)
  AND NOT EXISTS (SELECT FROM deployments d WHERE d.app = v.app AND d.version = v.version);

-- name: CountServersOfAppVersions :many
-- Those that have not ended at their provider, of each app version that has any.
SELECT app, version, count(*)::int AS servers FROM deployments GROUP BY app, version;

-- name: DrainInstancesOfPool :many
-- Their sessions continue. Instances that are starting never become ready.
WITH locked AS (
    SELECT i.id FROM instances i
    WHERE i.region = @region AND i.status IN ('starting', 'ready')
      AND i.deployment_id IN (SELECT d.id FROM deployments d WHERE d.region = @region AND d.app = @app AND d.version = @version)
    ORDER BY i.id FOR NO KEY UPDATE
), drained AS (
    UPDATE instances i SET status = 'draining' FROM locked l WHERE i.region = @region AND i.id = l.id RETURNING i.id
), logged AS (
    INSERT INTO events (region, kind, actor, instance_id) SELECT @region, 'instance.drained', coalesce(nullif(sqlc.arg(actor)::text, ''), 'sql:' || session_user), d.id FROM drained d
)
SELECT id FROM drained;

-- name: DrainDeploymentsOfPool :execrows
-- Servers that no player can be on end now, the others when they are empty.
WITH held AS ( -- in the order of all locks
    SELECT l.id FROM deployments l
    WHERE l.region = @region AND l.app = @app AND l.version = @version AND l.desired = 'running' AND l.phase IN ('wanted', 'deploying', 'starting', 'ready')
    ORDER BY l.id FOR NO KEY UPDATE
)
UPDATE deployments d SET
    desired = CASE WHEN d.phase = 'ready' THEN d.desired ELSE 'stopped' END,
    phase = CASE WHEN d.phase = 'ready' THEN 'draining' ELSE d.phase END,
    drain_at = now(), reason = @reason, generation = d.generation + 1, next_at = now(), woken_at = clock_timestamp(),
    stop_at = CASE WHEN d.phase = 'ready' THEN d.stop_at ELSE coalesce(d.stop_at, now()) END
FROM held h WHERE d.region = @region AND d.id = h.id;

-- name: PoolHasUndrained :one
-- Whether a server of a pool takes players: it has registered since DrainInstancesOfPool, whose snapshot does not have it. Locking it now would break the
-- order of all locks.
SELECT EXISTS (
    SELECT FROM deployments d JOIN instances i ON i.region = d.region AND i.id = d.id::text AND i.deployment_id = d.id
    WHERE d.region = @region AND d.app = @app AND d.version = @version AND i.status IN ('starting', 'ready')
)::bool AS undrained;

-- name: LogPool :exec
INSERT INTO events (region, kind, actor, detail)
VALUES (@region, @kind, coalesce(nullif(sqlc.arg(author)::text, ''), 'sql:' || session_user), @detail);
