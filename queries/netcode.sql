-- name: ClientServers :many
-- The servers that report lists of clients: whether they may, and the number of the last list that changed something.
SELECT d.instance_id, d.region, d.incarnation, coalesce(l.heartbeat_at > (SELECT lease_horizon()), false)::bool AS alive,
       coalesce(i.reports_seats, false)::bool AS reports_seats, coalesce(k.clients_seq, 0)::bigint AS seq,
       coalesce((SELECT v.dialect IS NOT NULL FROM app_versions v WHERE v.app = k.app AND v.version = k.version), false)::bool AS netcode
FROM instance_directory d
LEFT JOIN instance_leases l ON l.region = d.region AND l.instance_id = d.instance_id
LEFT JOIN instances i ON i.region = d.region AND i.id = d.instance_id
LEFT JOIN deployments k ON k.region = d.region AND k.id = i.deployment_id AND k.incarnation = d.incarnation
WHERE d.instance_id = ANY (@instance_ids::text[]);

-- name: ListedClients :many
-- The seats of listed clients, and whether the client's connection holds the seat. A client whose token is of another server has no row.
SELECT n.instance_id::text AS instance_id, t.client_id, t.session_id, t.sub,
       coalesce(st.state = 'connected' AND st.connection_jti = st.jti AND st.connection = t.client_id::text, false)::bool AS connected
FROM (SELECT unnest(@instance_ids::text[]) AS instance_id, unnest(@client_ids::bigint[]) AS client_id) n
JOIN instance_directory d ON d.instance_id = n.instance_id
JOIN netcode_tokens t ON t.region = d.region AND t.client_id = n.client_id AND t.deployment_id::text = n.instance_id
LEFT JOIN seats st ON st.region = t.region AND st.session_id = t.session_id AND st.sub = t.sub;

-- name: ConnectedClients :many
-- The seats that clients of these servers hold. The id of a client is both the token id and the name of its connection, which tells these
-- seats from those that the server reported by itself.
SELECT d.instance_id, s.id AS session_id, st.sub, st.jti::text AS client_id
FROM instance_directory d
JOIN sessions s ON s.region = d.region AND s.instance_id = d.instance_id AND s.incarnation = d.incarnation
JOIN seats st ON st.region = s.region AND st.session_id = s.id
WHERE d.instance_id = ANY (@instance_ids::text[]) AND st.state = 'connected' AND st.connection = st.jti AND st.connection_jti = st.jti
  AND length(st.jti) < 20; -- the ids of session tokens are longer

-- name: AdvanceClients :many
-- Records the numbers of lists that change something, in the transaction of the change. A server that is missing from the result has
-- meanwhile reported another list, or registered again.
UPDATE deployments d SET clients_seq = n.seq
FROM (SELECT k.id, m.seq FROM deployments k
      JOIN (SELECT unnest(@ids::uuid[]) AS id, unnest(@incarnations::uuid[]) AS incarnation, unnest(@before::bigint[]) AS before, unnest(@seqs::bigint[]) AS seq) m
        ON m.id = k.id AND m.incarnation = k.incarnation AND m.before = k.clients_seq
      WHERE k.region = @region AND k.id = ANY (@ids::uuid[]) ORDER BY k.id FOR NO KEY UPDATE OF k) n
WHERE d.region = @region AND d.id = n.id
RETURNING d.id;

-- name: PruneNetcodeTokens :one
-- Deletes client ids whose tokens can no longer be used. Those whose player is connected are looked at again later.
WITH due AS (
    SELECT t.client_id, EXISTS (
        SELECT FROM seats st WHERE st.region = @region AND st.session_id = t.session_id AND st.sub = t.sub AND st.state = 'connected'
          AND st.connection = t.client_id::text) AS connected
    FROM netcode_tokens t WHERE t.region = @region AND t.expires_at <= now()
    ORDER BY t.expires_at LIMIT @batch FOR UPDATE OF t SKIP LOCKED
), kept AS (
    UPDATE netcode_tokens t SET expires_at = now() + interval '10 minutes'
    WHERE t.region = @region AND t.client_id = ANY (ARRAY(SELECT d.client_id FROM due d WHERE d.connected))
), gone AS (
    DELETE FROM netcode_tokens t WHERE t.region = @region AND t.client_id = ANY (ARRAY(SELECT d.client_id FROM due d WHERE NOT d.connected))
)
SELECT count(*) AS seen, count(*) FILTER (WHERE NOT d.connected) AS deleted FROM due d;

-- name: DeploymentKeys :many
-- The netcode keys of deployments, in the order of their ids, without those that a key-encryption key seals already. A key-encryption key that
-- a published signing key needs is not lost, even where this worker does not have it.
SELECT d.id, d.netcode_key, coalesce(d.sealed_by, '')::text AS sealed_by, (d.desired = 'running' AND d.phase IN ('wanted', 'deploying', 'starting', 'ready'))::bool AS drains,
       EXISTS (SELECT FROM signing_keys k WHERE k.sealed_by = d.sealed_by AND k.tainted_at IS NULL AND k.verify_until > now())::bool AS needed
FROM deployments d
WHERE d.region = @region AND d.netcode_key IS NOT NULL AND d.sealed_by IS DISTINCT FROM sqlc.arg(sealed_by)::text AND d.id > @after
ORDER BY d.id LIMIT @batch;

-- name: ResealDeployments :execrows
-- Replaces keys that are still what the worker has read.
UPDATE deployments d SET netcode_key = l.sealed, sealed_by = @sealed_by::text
FROM (SELECT k.id, n.sealed FROM deployments k
      JOIN (SELECT unnest(@ids::uuid[]) AS id, unnest(@old::bytea[]) AS old, unnest(@sealed::bytea[]) AS sealed) n ON n.id = k.id AND n.old = k.netcode_key
      WHERE k.region = @region AND k.id = ANY (@ids::uuid[]) ORDER BY k.id FOR NO KEY UPDATE OF k) l
WHERE d.region = @region AND d.id = l.id;

-- name: DrainDeployments :execrows
-- Servers that no player can be on end now, the others when they are empty.
WITH held AS ( -- in the order of all locks
    SELECT l.id FROM deployments l
    WHERE l.region = @region AND l.id = ANY (@ids::uuid[]) AND l.desired = 'running' AND l.phase IN ('wanted', 'deploying', 'starting', 'ready')
    ORDER BY l.id FOR NO KEY UPDATE
)
UPDATE deployments d SET
    desired = CASE WHEN d.phase = 'ready' THEN d.desired ELSE 'stopped' END,
    phase = CASE WHEN d.phase = 'ready' THEN 'draining' ELSE d.phase END,
    drain_at = now(), reason = @reason::text, generation = d.generation + 1, next_at = now(), woken_at = clock_timestamp(),
    stop_at = CASE WHEN d.phase = 'ready' THEN d.stop_at ELSE coalesce(d.stop_at, now()) END
FROM held h WHERE d.region = @region AND d.id = h.id;

-- name: DeployedServer :one
-- What a server offers that registers by its credential alone, and what its last registration has left: the process that registered and the digest
-- of its certificate. The time numbers the lists of clients of one connection after those of all earlier ones.
SELECT v.modes, v.capacity, coalesce(d.boot_id, '')::text AS boot_id, coalesce(d.cert_digest, '')::text AS cert_digest,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS read_at
FROM deployments d JOIN app_versions v ON v.app = d.app AND v.version = d.version
WHERE d.region = @region AND d.id = @id AND d.phase NOT IN ('failed', 'stopping');
