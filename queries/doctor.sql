-- What doctor sums up over views of schema ops and statistics of Postgres. Single views are read by db/opsview. A value that may be missing is a
-- column of a CTE that is joined by an outer join: only those are nullable in the generated code.

-- name: DoctorVersion :one
SELECT current_setting('server_version')::text AS name, (current_setting('server_version_num')::int / 10000)::int AS major;

-- name: DoctorWritability :one
-- Says why a database may take no writes, as far as a role that only reads can see it. syncing counts commits that have waited for a synchronous
-- standby for two seconds.
SELECT pg_is_in_recovery()::bool AS standby, current_setting('default_transaction_read_only')::bool AS read_only,
       (SELECT s.source FROM pg_catalog.pg_settings s WHERE s.name = 'default_transaction_read_only')::text AS source, current_user::text AS role,
       coalesce(has_table_privilege(to_regclass('process_reports'), 'INSERT'), false)::bool AS allowed,
       (SELECT count(*) FROM pg_catalog.pg_stat_activity a WHERE a.wait_event = 'SyncRep' AND a.state_change < now() - interval '2 seconds')::int AS syncing;

-- name: DoctorConnections :one
SELECT (SELECT count(*) FROM pg_catalog.pg_stat_activity a WHERE a.backend_type = 'client backend')::int AS used,
       (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int)::int AS most;

-- name: DoctorLocks :one
-- Counts statements that wait for a lock, and describes what blocks the one that has waited longest ('' where nothing does).
WITH w AS (
    SELECT a.pid, extract(epoch FROM clock_timestamp() - a.query_start)::float8 AS seconds FROM pg_catalog.pg_stat_activity a
    WHERE a.wait_event_type = 'Lock' AND a.datname = current_database()
)
SELECT count(*)::int AS waiting, coalesce(max(w.seconds), 0)::float8 AS longest,
       coalesce((SELECT format('pid %s, %s, %s', b.pid, b.application_name, b.state) FROM pg_catalog.pg_stat_activity b
                 WHERE b.pid = ANY ((SELECT pg_blocking_pids(f.pid) FROM w f ORDER BY f.seconds DESC LIMIT 1)::int[]) LIMIT 1), '')::text AS blocker
FROM w;

-- name: DoctorWriters :one
-- Returns the age in seconds of the oldest writing transaction of any database, whose it is ('' where there is none), and whether the role sees
-- those of others.
SELECT coalesce(max(extract(epoch FROM now() - a.xact_start)), 0)::float8 AS oldest,
       coalesce((array_agg(format('pid %s, %s, database %s', a.pid, a.usename, a.datname) ORDER BY a.xact_start))[1], '')::text AS owner,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')::bool AS sees
FROM pg_catalog.pg_stat_activity a WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend';

-- name: DoctorBloat :many
-- Returns the table with the most dead rows, if most of its rows are.
SELECT t.relname::text AS name, t.n_dead_tup::bigint AS dead, t.n_live_tup::bigint AS live FROM pg_catalog.pg_stat_user_tables t
WHERE t.n_dead_tup > 20000 AND t.n_dead_tup > 2 * t.n_live_tup ORDER BY t.n_dead_tup DESC LIMIT 1;

-- name: DoctorSlots :many
-- Returns how much WAL each replication slot keeps, the most first.
SELECT s.slot_name::text AS name, s.active::bool AS active, coalesce(s.wal_status, '')::text AS status,
       coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, s.restart_lsn), 0)::bigint AS bytes
FROM pg_catalog.pg_replication_slots s ORDER BY 4 DESC;

-- name: DoctorProcesses :many
-- Returns the processes of the director, from their connections and their reports. idle and silent are seconds since the last statement and the
-- last report.
WITH c AS (
    SELECT p.process, sum(p.connections)::int AS connections, extract(epoch FROM now() - max(p.last_statement)) AS idle FROM ops.processes p GROUP BY p.process
), i AS (
    SELECT c.process, c.idle::float8 AS idle FROM c WHERE c.idle IS NOT NULL
), r AS (
    SELECT p.process COLLATE "default" AS process, extract(epoch FROM p.age)::float8 AS silent FROM ops.process_reports p
)
SELECT coalesce(c.process, r.process)::text AS process, coalesce(c.connections, 0)::int AS connections, i.idle, r.silent
FROM c FULL JOIN r ON r.process = c.process LEFT JOIN i ON i.process = c.process
WHERE coalesce(c.process, r.process) LIKE 'director %' ORDER BY 1;

-- name: DoctorTroubles :many
-- Returns what processes report of themselves, the same of all that report it. It leaves out processes that have been silent: whether their troubles
-- last is not known.
SELECT (t.trouble ->> 'subject')::text AS subject, (t.trouble ->> 'state')::text AS state, (t.trouble ->> 'says')::text AS says,
       (t.trouble ->> 'do')::text AS remedy, coalesce(t.trouble ->> 'section', '')::text AS section, count(*)::int AS processes
FROM ops.process_reports r CROSS JOIN LATERAL jsonb_array_elements(r.troubles) AS t(trouble)
WHERE r.age < interval '30 seconds' GROUP BY 1, 2, 3, 4, 5 ORDER BY count(*) DESC, 3 LIMIT 20;

-- name: DoctorKEKs :many
-- Returns what each key-encryption key is needed for, and which of the processes that report their keys have it.
WITH running AS (
    SELECT p.process COLLATE "default" AS process, p.key_encryption_keys AS keys FROM ops.process_reports p
    WHERE p.age < interval '1 minute' AND cardinality(p.key_encryption_keys) > 0
)
SELECT k.fingerprint::text AS fingerprint, k.credentials::int AS credentials, (k.signing_keys + k.netcode_keys)::int AS others,
       (SELECT count(*) FROM running)::int AS processes,
       ARRAY(SELECT r.process FROM running r WHERE NOT k.fingerprint = ANY (r.keys) ORDER BY 1 LIMIT 20)::text[] AS lacking,
       (SELECT count(*) FROM running r WHERE r.keys[1] = k.fingerprint)::int AS first
FROM ops.key_encryption_keys k ORDER BY k.credentials DESC, 1 LIMIT 20;

-- name: DoctorEnrolments :one
-- Sums up with which credentials game servers registered, and finds the enrolment with game servers that ends first, and one without a place.
-- ends_in is in seconds, below 0 for one that has ended; '' stands for no enrolment.
WITH e AS (
    SELECT o.region || '/' || o.name AS name, o.state, o.servers, o.max_servers, extract(epoch FROM o.expires_at - now())::float8 AS ends_in
    FROM ops.enrolments o WHERE o.state <> 'revoked'
), ending AS (
    SELECT e.name, e.servers, e.ends_in FROM e WHERE e.servers > 0 ORDER BY e.ends_in LIMIT 1
), c AS (
    SELECT count(*) FILTER (WHERE k.credential = 'enrolment') AS enrolled, count(*) FILTER (WHERE k.credential = 'fleet token') AS sharing
    FROM ops.server_credentials k WHERE k.status <> 'gone'
)
SELECT (SELECT count(*) FROM e WHERE e.state = 'valid')::int AS enrolments, c.enrolled::int AS enrolled, c.sharing::int AS sharing,
       coalesce(g.name, '')::text AS ending, coalesce(g.servers, 0)::int AS ending_servers, coalesce(g.ends_in, 0)::float8 AS ends_in,
       coalesce((SELECT e.name FROM e WHERE e.state = 'valid' AND e.servers >= e.max_servers ORDER BY 1 LIMIT 1), '')::text AS without_place
FROM c LEFT JOIN ending g ON true;

-- name: DoctorFleet :one
-- Sums up the fleet. It looks up the events of those few instances that ended lately, by an index: lost are those whose lease expired in the last
-- half hour. last and heartbeat are seconds since the last end and the last heartbeat of any.
WITH s AS (
    SELECT count(*) FILTER (WHERE f.alive)::int AS alive, count(*) FILTER (WHERE NOT f.alive AND f.status NOT IN ('gone', 'starting'))::int AS expired,
           count(*) FILTER (WHERE f.ended_at > now() - interval '1 hour')::int AS ended,
           count(*) FILTER (WHERE f.status = 'gone' AND f.ended_at > now() - interval '30 minutes' AND EXISTS (
               SELECT FROM ops.events e WHERE e.instance = f.instance AND e.at > now() - interval '31 minutes' AND e.kind = 'instance.ended'
                 AND e.detail ->> 'reason' = 'lease expired'))::int AS lost,
           extract(epoch FROM now() - max(f.ended_at)) AS last, extract(epoch FROM min(f.lease_age) FILTER (WHERE f.status <> 'gone')) AS heartbeat,
           count(*) FILTER (WHERE f.alive AND f.status = 'draining')::int AS draining, coalesce(sum(f.capacity) FILTER (WHERE f.alive), 0)::int AS capacity,
           coalesce(sum(f.reserved_seats) FILTER (WHERE f.alive), 0)::int AS reserved, coalesce(sum(f.players) FILTER (WHERE f.alive), 0)::int AS players
    FROM ops.fleet f
), l AS (
    SELECT s.last::float8 AS last FROM s WHERE s.last IS NOT NULL
), h AS (
    SELECT s.heartbeat::float8 AS heartbeat FROM s WHERE s.heartbeat IS NOT NULL
)
SELECT s.alive, s.expired, s.draining, s.ended, s.lost, l.last, h.heartbeat, s.capacity, s.reserved, s.players,
       (SELECT count(*) FROM ops.pools p WHERE p.max > 0)::int AS pools, (SELECT count(*) FROM ops.agents)::int AS agents
FROM s LEFT JOIN l ON true LEFT JOIN h ON true;

-- name: DoctorAgents :many
-- Sums up the game servers of the orchestrator, by region. renewed and lease are seconds.
WITH r AS (
    SELECT p.region, count(*) FILTER (WHERE p.state <> 'ended') AS replicas, min(extract(epoch FROM p.lease_age)) FILTER (WHERE p.state <> 'ended') AS renewed
    FROM ops.replicas p GROUP BY p.region
), n AS (
    SELECT r.region, r.renewed::float8 AS renewed FROM r WHERE r.renewed IS NOT NULL
), a AS (
    SELECT g.region, count(*) AS agents, count(*) FILTER (WHERE g.state = 'connected') AS connected,
           count(*) FILTER (WHERE g.state = 'connected' AND g.status = 'draining') AS draining
    FROM ops.agents g GROUP BY g.region
), c AS (
    SELECT m.region, count(*) AS timed_out FROM ops.commands m WHERE m.state IN ('timed_out', 'done_late') GROUP BY m.region
)
SELECT coalesce(r.region, a.region, c.region)::text AS region, coalesce(r.replicas, 0)::int AS replicas, n.renewed, extract(epoch FROM y.lease_ttl)::float8 AS lease,
       coalesce(a.agents, 0)::int AS agents, coalesce(a.connected, 0)::int AS connected, coalesce(a.draining, 0)::int AS draining,
       coalesce(c.timed_out, 0)::int AS timed_out
FROM r FULL JOIN a ON a.region = r.region FULL JOIN c ON c.region = coalesce(r.region, a.region) CROSS JOIN ops.amnesty y
LEFT JOIN n ON n.region = r.region ORDER BY 1;

-- name: DoctorLobbies :many
-- Sums up the realtime lobby, by region. renewed, lease and overdue are seconds: overdue is for how long the oldest expired session has waited for
-- a worker.
WITH r AS (
    SELECT t.region, t.lease_age, t.connected, t.suspended, t.rooms FROM ops.realtime t
), n AS (
    SELECT r.region, extract(epoch FROM r.lease_age)::float8 AS renewed FROM r WHERE r.lease_age IS NOT NULL
), s AS (
    SELECT r.region, c.cut_off, c.expired, c.overdue FROM r CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE e.state = 'cut off') AS cut_off, count(*) FILTER (WHERE e.state = 'expired') AS expired,
               extract(epoch FROM now() - min(e.expires_at) FILTER (WHERE e.state = 'expired')) AS overdue
        FROM ops.realtime_sessions e WHERE e.region = r.region) c
), o AS (
    SELECT s.region, s.overdue::float8 AS overdue FROM s WHERE s.overdue IS NOT NULL
)
SELECT r.region, n.renewed, extract(epoch FROM a.lease_ttl)::float8 AS lease, r.connected::int AS connected, r.suspended::int AS suspended,
       r.rooms::int AS rooms, s.cut_off::int AS cut_off, s.expired::int AS expired, o.overdue
FROM r JOIN s ON s.region = r.region CROSS JOIN ops.amnesty a LEFT JOIN n ON n.region = r.region LEFT JOIN o ON o.region = r.region
ORDER BY r.region;

-- name: DoctorDenials :many
-- Returns where most players were refused in the last ten minutes: by which call, with which of the codes.
WITH refused AS (
    SELECT f.call, f.code, coalesce(f.region, '') AS region, coalesce(f.mode, '') AS mode, f.player, f.detail, f.last_at FROM ops.refusals f
    WHERE f.last_at > now() - interval '10 minutes' AND f.hour >= date_trunc('hour', now() - interval '10 minutes', 'UTC') AND f.code = ANY (@codes::text[])
)
SELECT r.call::text AS call, r.code::text AS code, r.region::text AS region, r.mode::text AS mode, count(DISTINCT r.player)::int AS players,
       ((array_agg(r.detail ORDER BY r.last_at DESC))[1])::text AS detail, (SELECT count(DISTINCT o.player) FROM refused o)::int AS everyone,
       (SELECT coalesce(sum(s.players), 0) FROM ops.sessions s)::int AS seated
FROM refused r GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2 LIMIT 1;

-- name: DoctorQueues :many
-- Returns the universes with waiting tickets, and their profiles that no worker decides for. oldest is in seconds.
SELECT q.region, q.tickets::int AS tickets, coalesce(q.oldest_seconds, 0)::float8 AS oldest,
       ARRAY(SELECT p.profile FROM ops.profiles p WHERE p.region = q.region AND p.state = 'no worker' ORDER BY 1 LIMIT 20)::text[] AS unowned
FROM ops.queue q WHERE q.tickets > 0 ORDER BY q.tickets DESC LIMIT 10;

-- name: DoctorPools :many
-- Returns the pools that serve modes. failed counts deployments in phase failed, with an error of the provider while they start, or whose server may
-- not register; overdue its own deployments that wait for a worker with its provider, as ops.providers counts those of all pools; plan_age is in
-- seconds.
WITH p AS (
    SELECT o.region, o.app, o.version, o.provider, o.state, o.servers, o.waiting_players, o.pause_reason, o.planned_at FROM ops.pools o
    WHERE cardinality(o.modes) > 0
), g AS (
    SELECT p.region, p.app, p.version, extract(epoch FROM now() - p.planned_at)::float8 AS plan_age FROM p WHERE p.planned_at IS NOT NULL
)
SELECT (p.region || '/' || p.app || '/' || p.version)::text AS pool, p.provider, p.state::text AS state, p.servers::int AS servers,
       p.waiting_players::bigint AS waiting, coalesce(p.pause_reason, '')::text AS reason, g.plan_age, e.failed, e.error,
       coalesce(w.workers, 0)::bigint AS provider_workers, x.overdue
FROM p LEFT JOIN ops.providers w ON w.provider = p.provider LEFT JOIN g ON g.region = p.region AND g.app = p.app AND g.version = p.version CROSS JOIN LATERAL (
    SELECT count(*)::int AS failed, coalesce(max(coalesce(d.last_error, 'registration refused: ' || d.refused)), '')::text AS error FROM ops.deployments d
    WHERE d.region = p.region AND d.app = p.app AND d.version = p.version
      AND (d.phase = 'failed' OR d.phase IN ('wanted', 'deploying', 'starting') AND d.last_error IS NOT NULL
           OR d.desired = 'running' AND d.refused_at > greatest(d.registered_at, now() - interval '5 minutes'))) e
CROSS JOIN LATERAL (
    SELECT count(*)::int AS overdue FROM deployments d
    WHERE d.region = p.region AND d.app = p.app AND d.version = p.version AND d.provider = p.provider
      AND d.next_at < now() - interval '30 seconds' AND coalesce(d.leased_until, '-infinity') < now() - interval '30 seconds') x
ORDER BY p.region, p.app, p.version;

-- name: DoctorCells :many
-- Returns the regions of other cells that have game servers here.
SELECT r.region, r.cell, c.address, count(*)::int AS servers
FROM cell_regions r JOIN cells c ON c.cell = r.cell JOIN instances i ON i.region = r.region AND i.status <> 'gone'
GROUP BY r.region, r.cell, c.address ORDER BY 4 DESC, 1 LIMIT 10;
