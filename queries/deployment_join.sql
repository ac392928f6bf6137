-- name: DeploymentOf :one
-- A deployment and what its app version allows, read without locks. Whether another deployment has the ref that its server names.
SELECT d.phase, d.desired, d.endpoint, coalesce(d.ref, '') AS ref, v.modes, v.capacity, v.max_sessions,
       (v.dialect IS NOT NULL AND d.provider = 'manual')::bool AS dialled_by_registration, -- by connect tokens, which name no host
       EXISTS (SELECT FROM deployments o WHERE o.region = d.region AND o.provider = d.provider AND o.ref = sqlc.narg(provider_ref)::text AND o.id <> d.id) AS ref_taken
FROM deployments d JOIN app_versions v ON v.app = d.app AND v.version = d.version
WHERE d.region = @region AND d.id = @id;

-- name: JoinDeployment :one
-- Ties a deployment to the incarnation that its server has registered. A process that starts for the sixth time in ten minutes fails it.
-- A server that registers before its provider's answer is known proves that the call was made: the deployment is due. One that names another
-- ref than the deployment's is a second server, and gets no row.
UPDATE deployments d SET
    incarnation   = @incarnation,
    boot_id       = sqlc.narg(boot_id),
    registered_at = CASE WHEN had.same THEN d.registered_at ELSE now() END,
    cert_digest   = sqlc.narg(cert_digest),
    claimed_ref   = sqlc.narg(provider_ref),
    tokens_by     = @tokens_by,
    clients_seq   = CASE WHEN had.same THEN d.clients_seq ELSE 0 END,
    lost_at       = NULL,
    reason        = CASE WHEN had.boots > sqlc.arg(max_boots)::int THEN 'too_many_boots' ELSE nullif(d.reason, 'deregistered') END,
    boots         = had.boots,
    boots_since   = had.boots_since,
    phase         = CASE WHEN had.boots > sqlc.arg(max_boots)::int THEN 'failed' ELSE d.phase END,
    generation    = CASE WHEN had.boots > sqlc.arg(max_boots)::int THEN d.generation + 1 ELSE d.generation END,
    next_at       = CASE WHEN had.boots > sqlc.arg(max_boots)::int OR d.phase IN ('wanted', 'deploying') THEN now() ELSE d.next_at END,
    woken_at      = CASE WHEN had.boots > sqlc.arg(max_boots)::int OR d.phase IN ('wanted', 'deploying') THEN clock_timestamp() ELSE d.woken_at END
FROM (
    SELECT x.id, x.incarnation IS NOT DISTINCT FROM @incarnation AS same,
           CASE WHEN x.incarnation = @incarnation OR x.boot_id = sqlc.narg(boot_id) THEN x.boots
                WHEN x.boots_since > now() - interval '10 minutes' THEN x.boots + 1 ELSE 1 END AS boots,
           CASE WHEN x.incarnation = @incarnation OR x.boot_id = sqlc.narg(boot_id) OR x.boots_since > now() - interval '10 minutes'
                THEN x.boots_since ELSE now() END AS boots_since
    FROM deployments x WHERE x.region = @region AND x.id = @id AND x.phase NOT IN ('failed', 'stopping')
      AND (sqlc.narg(provider_ref)::text IS NULL OR x.ref IS NULL OR x.ref = sqlc.narg(provider_ref)::text) FOR NO KEY UPDATE
) had
WHERE d.region = @region AND d.id = had.id
RETURNING d.phase, d.desired, d.endpoint, d.ends_at;

-- name: NoteRefusedRegistration :exec
WITH noted AS (
    UPDATE deployments d SET refused = @refused::text, refused_at = now()
    FROM (SELECT x.id, x.refused FROM deployments x WHERE x.region = @region AND x.id = @id AND x.desired = 'running' AND x.phase NOT IN ('failed', 'stopping')
            AND (x.refused IS DISTINCT FROM @refused::text OR x.refused_at < now() - interval '10 seconds') FOR NO KEY UPDATE) was
    WHERE d.region = @region AND d.id = was.id
    RETURNING d.id, d.app, d.version, was.refused IS DISTINCT FROM @refused::text AS is_new
)
INSERT INTO events (region, kind, instance_id, detail)
SELECT @region, 'deployment.refused', n.id::text, jsonb_build_object('app', n.app, 'version', n.version, 'error', @refused::text) FROM noted n WHERE n.is_new;

-- name: LockStarting :one
-- Locks the instance of a deployment that waits to become ready. It comes before the deployment, in the order of all locks.
SELECT i.incarnation, i.endpoint FROM instances i
WHERE i.region = @region AND i.id = sqlc.arg(id)::uuid::text AND i.deployment_id = @id AND i.status = 'starting' FOR NO KEY UPDATE;

-- name: LockReady :one
-- Locks a deployment for which nothing is missing any more: its provider says that it is ready, its server has registered, and the
-- digest of its certificate is known where the version requires one. A worker that was killed may have stored the ref, and not the phase. A
-- server that names another ref is a second one: players would dial the deployment's own.
SELECT coalesce(host(d.ip), '')::text AS ip, d.ports, v.endpoint AS format, v.game_port, (v.dialect IS NOT NULL)::bool AS netcode
FROM deployments d JOIN app_versions v ON v.app = d.app AND v.version = d.version
WHERE d.region = @region AND d.id = @id AND d.incarnation = @incarnation AND d.desired = 'running'
  AND (d.phase IN ('starting', 'ready') OR d.phase IN ('wanted', 'deploying') AND d.ref IS NOT NULL)
  AND d.provider_ready_at IS NOT NULL AND (d.cert_digest IS NOT NULL OR NOT v.digest_required)
  AND (d.claimed_ref IS NULL OR d.claimed_ref = d.ref)
FOR NO KEY UPDATE OF d;

-- name: ReadyDeployment :exec
-- The next step of a ready deployment is the end of its life. Its health is the lease of its instance.
UPDATE deployments d SET
    phase      = 'ready',
    endpoint   = @endpoint,
    ready_at   = coalesce(d.ready_at, now()),
    ends_at    = n.ends_at,
    drain_at   = n.drain_at,
    next_at    = least(n.drain_at, n.ends_at - n.grace, d.find_at),
    generation = d.generation + 1,
    polls      = 0,
    last_error = NULL
FROM (
    SELECT x.id, v.grace, coalesce(x.ends_at, now() + v.max_lifetime) AS ends_at,
           coalesce(x.drain_at, greatest(coalesce(x.ends_at, now() + v.max_lifetime) - v.drain_ahead, now())) AS drain_at
    FROM deployments x JOIN app_versions v ON v.app = x.app AND v.version = x.version
    WHERE x.region = @region AND x.id = @id
) n
WHERE d.region = @region AND d.id = n.id;

-- name: FailDeployment :exec
UPDATE deployments SET phase = 'failed', reason = @reason, last_error = @last_error, generation = generation + 1, next_at = now(), woken_at = clock_timestamp()
WHERE region = @region AND id = @id;

-- name: ForgiveFailures :exec
-- A server of the version became ready: failures before it do not pause the version in this region any more. Pauses and versions are locked by
-- those who change pools, who lock deployments after them, so this does not wait: the next server that becomes ready forgives them, too.
WITH counted_by_old_workers AS (
    UPDATE app_versions v SET failures = 0
    FROM (SELECT l.app, l.version FROM deployments d JOIN app_versions l ON l.app = d.app AND l.version = d.version
          WHERE d.region = @region AND d.id = @id AND l.failures > 0 FOR NO KEY UPDATE OF l SKIP LOCKED) h
    WHERE v.app = h.app AND v.version = h.version
)
UPDATE start_pauses s SET count = 0
FROM (SELECT l.app, l.version FROM deployments d JOIN start_pauses l ON l.region = d.region AND l.app = d.app AND l.version = d.version
      WHERE d.region = @region AND d.id = @id AND l.cause = 'failures' AND l.count > 0 FOR NO KEY UPDATE OF l SKIP LOCKED) h
WHERE s.region = @region AND s.app = h.app AND s.version = h.version AND s.cause = 'failures';

-- name: ShowInstance :exec
-- Sets the status and the endpoint of an instance that belongs to a deployment.
UPDATE instances SET status = @status, endpoint = @endpoint WHERE region = @region AND id = @id AND (status, endpoint) IS DISTINCT FROM (@status, @endpoint);

-- name: NoteDeregistered :exec
-- The server of a deployment has ended by itself, and in order: that is no crash. If it registers again, it has not ended.
UPDATE deployments d SET reason = coalesce(d.reason, 'deregistered')
FROM instances i
WHERE i.region = @region AND i.id = @id AND d.region = @region AND d.id = i.deployment_id AND d.desired = 'running';

-- name: DeployedInstance :one
SELECT i.status, i.endpoint, d.ends_at, (d.desired = 'stopped' OR d.phase IN ('draining', 'failed', 'stopping'))::bool AS ending
FROM deployments d JOIN instances i ON i.region = d.region AND i.id = d.id::text
WHERE d.region = @region AND d.id = @id;

-- name: WakeDeployment :one
-- Makes a deployment due, at most once a second: within a second of the last wake-up it is due at the end of it, and from then on more
-- wake-ups write nothing.
WITH woken AS (
    UPDATE deployments SET
        woken_at = greatest(clock_timestamp(), woken_at + interval '1 second'),
        next_at  = least(next_at, greatest(clock_timestamp(), woken_at + interval '1 second'))
    WHERE region = @region AND id = @id AND (woken_at IS NULL OR woken_at <= clock_timestamp())
    RETURNING 1
)
SELECT (count(*) > 0)::bool AS woken FROM woken;

-- name: DeploymentPlace :one
-- Where the server of a deployment runs, as far as its provider has said it.
SELECT d.app, d.version, d.tag, coalesce(host(d.ip), '')::text AS ip, d.ports, coalesce(d.location, '')::text AS location,
       (d.provider_ready_at IS NOT NULL)::bool AS ready
FROM deployments d WHERE d.region = @region AND d.id = @id;
