-- The console's page of health, and that of keys.

-- name: ConsoleAmnesty :one
SELECT a.amnesty::bool AS amnesty, coalesce(a.since, 'epoch')::timestamptz AS since, coalesce(a.ends_at, 'epoch')::timestamptz AS ends_at,
       coalesce(a.last_pulse, 'epoch')::timestamptz AS last_pulse, a.lease_ttl FROM ops.amnesty a;

-- name: ConsoleReplicas :many
SELECT 'orchestrator'::text AS face, r.region, r.replica, r.state::text AS state, r.agents::bigint AS connections, r.seen_at, r.lease_age::interval AS lease_age, coalesce(nullif(r.steady_since, 'infinity'), 'epoch')::timestamptz AS steady_since, r.ended_at
FROM ops.replicas r
UNION ALL
SELECT 'realtime', r.region, r.replica, r.state, r.sessions, r.seen_at, r.lease_age, coalesce(nullif(r.steady_since, 'infinity'), 'epoch'), r.ended_at FROM ops.realtime_replicas r
ORDER BY 1, 2, 3 LIMIT 500;

-- name: ConsoleProcesses :many
SELECT p.process::text AS process, p.address::text AS address, p.connections::bigint AS connections, p.connected_since::timestamptz AS connected_since,
       coalesce(p.last_statement, 'epoch')::timestamptz AS last_statement
FROM ops.processes p ORDER BY p.process, p.address LIMIT 500;

-- name: ConsoleSamples :many
-- Returns measures of the last hour, summed over regions or, with @region, of one, oldest first.
SELECT s.minute, s.measure, s.subject, sum(s.value)::float8 AS value
FROM ops.minute_samples s
WHERE s.minute > statement_timestamp() - interval '62 minutes' AND s.measure = ANY (@measures::text[]) AND (@region::text = '' OR s.region = @region::text)
GROUP BY s.minute, s.measure, s.subject ORDER BY s.minute, s.measure, s.subject LIMIT 20000;

-- name: ConsoleWorkerLoops :many
SELECT w.loop, w.last_success, w.age::interval AS age, w.every, w.late::bool AS late FROM ops.worker_loops w ORDER BY w.loop LIMIT 100;

-- name: ConsoleSnapshots :many
SELECT o.kind::text AS kind, o.holders::bigint AS holders, o.age::interval AS age, o.transactions::int AS transactions, coalesce(o.oldest, '')::text AS oldest
FROM ops.oldest_snapshot o ORDER BY o.kind;

-- name: ConsolePartitions :many
SELECT p.table_name::text AS table_name, p.days::bigint AS days, coalesce(p.first_day::text, '')::text AS first_day, coalesce(p.last_day::text, '')::text AS last_day, coalesce(p.days_ahead, -1)::int AS days_ahead, p.default_bytes::bigint AS default_bytes
FROM ops.partitions p ORDER BY 1;

-- name: ConsoleInvariants :many
-- Reads all hot tables: call it rarely.
SELECT i.name::text AS name, i.violations::bigint AS violations FROM ops.invariants i ORDER BY i.violations DESC, i.name;

-- name: ConsoleKeys :many
SELECT k.kid, k.alg, k.state::text AS state, k.publish_at, k.sign_from, k.sign_until, k.verify_until, k.tainted_at, k.sealed_by, k.created_at
FROM ops.keys k ORDER BY k.sign_from DESC, k.kid LIMIT @most;

-- name: ConsoleKeyEncryptionKeys :many
SELECT k.fingerprint::text AS fingerprint, k.signing_keys::bigint AS signing_keys, k.netcode_keys::bigint AS netcode_keys, k.credentials::bigint AS credentials, k.project_keys::bigint AS project_keys
FROM ops.key_encryption_keys k ORDER BY 1 LIMIT 100;

-- name: ConsoleProjectKeys :many
SELECT k.region, k.project, k.project_name, k.key, k.name, k.scopes, k.state::text AS state, k.tokens_minted, coalesce(k.rotated_from, '')::text AS rotated_from, k.created_at, k.revoked_at, k.retires_at, k.sealed_by
FROM ops.project_keys k WHERE (k.region, k.project, k.key) > (@after_region::text, @after_project::text, @after::text) ORDER BY k.region, k.project, k.key LIMIT @most;
