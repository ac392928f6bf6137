-- name: LockInstanceID :one
-- Inserts or finds the directory row and locks it, so that two registrations of one id run one after the other.
INSERT INTO instance_directory (instance_id, region, incarnation) VALUES (@instance_id, @region, @incarnation)
ON CONFLICT (instance_id) DO UPDATE SET instance_id = excluded.instance_id
RETURNING region, incarnation, (xmax = 0)::bool AS is_new;

-- name: PointDirectory :exec
UPDATE instance_directory SET region = @region, incarnation = @incarnation WHERE instance_id = @instance_id;

-- name: LockInstance :one
SELECT i.incarnation, i.boot_id, i.endpoint, i.status, i.reserved_seats,
       coalesce(l.heartbeat_at > (SELECT lease_horizon()), false)::bool AS alive
FROM instances i LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
WHERE i.region = @region AND i.id = @id
FOR NO KEY UPDATE OF i;

-- name: PutInstance :exec
-- Registers an instance, or replaces its registration. An instance that keeps its incarnation stays draining, and one of a deployment that has
-- become ready keeps its endpoint: the registration may have read the deployment before. When its capacity
-- shrinks below what its open sessions have reserved, seat_ceiling keeps the reserved number. The status is that of a new incarnation, unless an
-- operator keeps the instance drained: see keep_instance_drained() in migrations/00036_kept_drains_of_instances.sql.
INSERT INTO instances (region, id, incarnation, boot_id, endpoint, modes, labels, version, cert_digest, capacity,
                       seat_ceiling, max_sessions, reports_seats, creates_rooms, deployment_id, status)
VALUES (@region, @id, @incarnation, sqlc.narg(boot_id), @endpoint, @modes, @labels, sqlc.narg(version), sqlc.narg(cert_digest), @capacity,
        @capacity, sqlc.narg(max_sessions), @reports_seats, @creates_rooms, sqlc.narg(deployment_id), @status)
ON CONFLICT (region, id) DO UPDATE SET
    incarnation   = excluded.incarnation,
    boot_id       = coalesce(excluded.boot_id, instances.boot_id),
    endpoint      = CASE WHEN instances.incarnation = excluded.incarnation AND instances.deployment_id IS NOT NULL AND instances.status <> 'starting'
                         THEN instances.endpoint ELSE excluded.endpoint END,
    modes         = excluded.modes,
    labels        = excluded.labels,
    version       = excluded.version,
    cert_digest   = excluded.cert_digest,
    capacity      = excluded.capacity,
    seat_ceiling  = greatest(excluded.capacity, instances.reserved_seats),
    max_sessions  = excluded.max_sessions,
    status        = CASE WHEN instances.incarnation = excluded.incarnation THEN instances.status ELSE excluded.status END,
    deployment_id = excluded.deployment_id,
    reports_seats = excluded.reports_seats OR (instances.reports_seats AND instances.incarnation = excluded.incarnation),
    creates_rooms = excluded.creates_rooms OR (instances.creates_rooms AND instances.incarnation = excluded.incarnation),
    registered_at = CASE WHEN instances.incarnation = excluded.incarnation THEN instances.registered_at ELSE now() END,
    ended_at      = NULL;

-- name: PutLease :exec
INSERT INTO instance_leases (region, instance_id, incarnation, heartbeat_at, load)
VALUES (@region, @instance_id, @incarnation, clock_timestamp(), @load)
ON CONFLICT (region, instance_id) DO UPDATE SET
    incarnation = excluded.incarnation, heartbeat_at = excluded.heartbeat_at, load = excluded.load;

-- name: PutModes :exec
-- Sets the modes that an instance offers, and deletes its others.
WITH dropped AS (
    DELETE FROM instance_modes m WHERE m.region = @region AND m.instance_id = @instance_id AND NOT m.mode = ANY (@modes::text[])
)
INSERT INTO instance_modes (region, instance_id, mode, load_bucket, share_bucket)
SELECT i.region, i.id, m.mode, load_bucket(@load), share_bucket(i)
FROM instances i, unnest(@modes::text[]) AS m(mode)
WHERE i.region = @region AND i.id = @instance_id ORDER BY m.mode
ON CONFLICT (region, instance_id, mode) DO UPDATE SET load_bucket = excluded.load_bucket, share_bucket = excluded.share_bucket;

-- name: LogInstance :exec
INSERT INTO events (region, kind, instance_id, detail) VALUES (@region, @kind, @instance_id, @detail);

-- name: LogKeptDrain :exec
-- Logs in the name of the operator that a new incarnation drains, because an operator keeps the instance drained.
INSERT INTO events (region, kind, actor, instance_id, detail)
SELECT i.region, 'instance.drained', k.actor, i.id, jsonb_build_object('kept', true, k.target, k.value)
FROM instances i CROSS JOIN LATERAL kept_drains_of(i) k
WHERE i.region = @region AND i.id = @instance_id AND i.drain_kept AND i.status = 'draining' ORDER BY k.at LIMIT 1;

-- name: Available :one
SELECT greatest(0, capacity - reserved_seats)::int AS available FROM instances WHERE region = @region AND id = @id;

-- name: Heartbeats :many
-- One statement for all heartbeats of a batch, in the order of their ids. The nil incarnation means a legacy server, which
-- is identified by its id alone; a load of NaN means that none was sent. A heartbeat without a row in the result was refused;
-- FindInstances returns why. The load bucket of a mode is read only when a load was sent, and written only when it changes, so
-- that a heartbeat is one HOT update. Locked rows of modes are skipped, so that a heartbeat never waits for a placement; the
-- next one updates them.
WITH beats AS (
    SELECT d.region, b.instance_id, nullif(b.load, 'NaN') AS load, b.incarnation
    FROM (SELECT unnest(@instance_ids::text[]) AS instance_id, unnest(@loads::float8[]) AS load, unnest(@incarnations::uuid[]) AS incarnation) b
    JOIN instance_directory d ON d.instance_id = b.instance_id
), beaten AS (
    UPDATE instance_leases l SET heartbeat_at = clock_timestamp(), load = coalesce(b.load, l.load)
    FROM beats b
    WHERE l.region = b.region AND l.instance_id = b.instance_id AND l.heartbeat_at > (SELECT lease_horizon())
      AND (b.incarnation = '00000000-0000-0000-0000-000000000000' OR b.incarnation = l.incarnation)
    RETURNING l.region, l.instance_id, l.load, b.load IS NOT NULL AS told
), moved AS (
    UPDATE instance_modes m SET load_bucket = load_bucket(n.load)
    FROM (
        SELECT mm.region, mm.instance_id, mm.mode, k.load
        FROM beaten k JOIN instance_modes mm ON mm.region = k.region AND mm.instance_id = k.instance_id
        WHERE k.told AND mm.load_bucket <> load_bucket(k.load) FOR NO KEY UPDATE OF mm SKIP LOCKED
    ) n
    WHERE m.region = n.region AND m.instance_id = n.instance_id AND m.mode = n.mode
)
SELECT i.region, i.id, greatest(0, i.capacity - i.reserved_seats)::int AS available, i.status, i.endpoint,
       (i.deployment_id IS NOT NULL)::bool AS deployed, coalesce(d.ending, true)::bool AS ending, d.ends_at
FROM beaten k JOIN instances i ON i.region = k.region AND i.id = k.instance_id
LEFT JOIN LATERAL ( -- LIMIT makes this one lookup for each deployed instance, and none for others
    SELECT x.ends_at, x.desired = 'stopped' OR x.phase IN ('draining', 'failed', 'stopping') AS ending
    FROM deployments x WHERE x.region = i.region AND x.id = i.deployment_id LIMIT 1
) d ON i.deployment_id IS NOT NULL;

-- name: FindInstances :many
-- The regions, incarnations and leases of instances, to find the reason for which calls were refused. An id that was never
-- registered, or was deleted since, has no row.
SELECT d.instance_id, d.region, d.incarnation, coalesce(l.heartbeat_at > (SELECT lease_horizon()), false)::bool AS alive
FROM instance_directory d
LEFT JOIN instance_leases l ON l.region = d.region AND l.instance_id = d.instance_id
WHERE d.instance_id = ANY (@instance_ids::text[]);

-- name: KnownModes :many
-- The modes of all instances, also of ended ones until they are deleted. It reads the whole table, so call it rarely.
SELECT DISTINCT i.region, m.mode::text AS mode FROM instances i CROSS JOIN unnest(i.modes) AS m(mode) ORDER BY 1, 2 LIMIT 10000;

-- name: EndInstance :one
SELECT end_instance(@region, @id, @reason)::int AS closed;

-- name: CloseStranded :one
SELECT close_stranded(@region, @id, @reason)::int AS closed;

-- name: SetDrain :one
-- Starts or ends the drain that a game server asks for, and returns whether it drains now. A draining instance gets no new players; its sessions
-- continue. The instance of a deployment takes players again only while the deployment is ready, and one that an operator keeps drained only
-- when that ends; if the game server asks for a drain meanwhile, it still drains then.
WITH changed AS (
    UPDATE instances i SET status = CASE WHEN @drain::bool THEN 'draining' ELSE 'ready' END, drain_kept = false
    WHERE i.region = @region AND i.id = @id AND (i.status = CASE WHEN @drain::bool THEN 'ready' ELSE 'draining' END OR @drain::bool AND i.drain_kept)
      AND (@drain::bool OR i.deployment_id IS NULL OR EXISTS (
          SELECT FROM deployments d WHERE d.region = i.region AND d.id = i.deployment_id AND d.phase = 'ready' AND d.desired = 'running'
            AND d.incarnation = i.incarnation))
    RETURNING i.status
), logged AS (
    INSERT INTO events (region, kind, instance_id)
    SELECT @region, CASE WHEN @drain::bool THEN 'instance.drained' ELSE 'instance.undrained' END, @id FROM changed c
    WHERE c.status = CASE WHEN @drain::bool THEN 'draining' ELSE 'ready' END
)
SELECT (coalesce((SELECT c.status FROM changed c), i.status) = 'draining')::bool AS draining, EXISTS (SELECT FROM changed) AS changed
FROM instances i WHERE i.region = @region AND i.id = @id;

-- name: RefreshShares :exec
SELECT refresh_shares(@region, @instance_ids::text[]);

-- name: ExpiredInstances :many
-- Skips locked rows: a running heartbeat locks the lease that it renews.
SELECT i.id
FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
WHERE i.region = @region AND l.heartbeat_at <= (SELECT lease_horizon())
ORDER BY i.id LIMIT @batch
FOR NO KEY UPDATE OF i, l SKIP LOCKED;

-- name: LockInstances :exec
-- Locks instances in the order of their ids, for a transaction that then changes them in several statements.
SELECT 1 FROM instances WHERE region = @region AND id = ANY (@ids::text[]) ORDER BY id FOR NO KEY UPDATE;

-- name: StrandedInstances :many
SELECT id FROM instances WHERE region = @region AND stranded ORDER BY id LIMIT @batch FOR NO KEY UPDATE SKIP LOCKED;

-- name: ForgetInstances :execrows
-- Deletes instances that ended long ago, and their directory rows, so that the table stays as small as the fleet. The id of a deployment's
-- instance is never used again, so its drain goes with it; others stay until an operator lifts them.
WITH old AS (
    SELECT x.id, x.incarnation, x.deployment_id FROM instances x JOIN instance_directory d ON d.instance_id = x.id
    WHERE x.region = @region AND x.status = 'gone' AND x.open_sessions = 0 AND x.ended_at < now() - sqlc.arg(keep)::interval
    ORDER BY x.id LIMIT @batch FOR UPDATE SKIP LOCKED -- locks the directory row, too, which a registration may have locked
), unlisted AS (
    DELETE FROM instance_directory WHERE (instance_id, incarnation) IN (SELECT o.id, o.incarnation FROM old o)
), lifted AS (
    DELETE FROM instance_drains k WHERE k.region = '' AND k.target = 'instance' AND k.value IN (SELECT o.id FROM old o WHERE o.deployment_id IS NOT NULL)
)
DELETE FROM instances i WHERE i.region = @region AND i.id IN (SELECT o.id FROM old o);

-- name: Regions :many
-- The regions with instances, running or ended. A worker runs region by region, since its locking reads name one.
SELECT fleet_regions()::text AS region;
