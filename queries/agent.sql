-- name: ShareKeptDrains :exec
-- Transactions that compare agents with kept_drains hold this lock, so that they cannot miss a row that another transaction is inserting.
SELECT pg_advisory_xact_lock_shared(hashtext('director.kept_drains.' || @region::text));

-- name: LockKeptDrains :exec
SELECT pg_advisory_xact_lock(hashtext('director.kept_drains.' || @region::text));

-- name: EndedReplicas :many
-- Returns the given replicas that have ended or never began.
SELECT k.id::uuid AS id FROM unnest(@ids::uuid[]) AS k(id)
WHERE NOT EXISTS (SELECT FROM replicas r WHERE r.region = @region AND r.id = k.id AND r.ended_at IS NULL);

-- name: FindPredecessors :many
-- Agents of the same process, name and endpoint on other replicas. gone: their replica has ended, or its lease has expired.
SELECT k.joining::text AS joining, a.id, (r.id IS NULL OR r.ended_at IS NOT NULL OR r.seen_at <= (SELECT replica_horizon(sqlc.arg(region))))::bool AS gone
FROM (SELECT unnest(@joining::text[]) AS joining, unnest(@processes::text[]) AS process, unnest(@names::text[]) AS name,
             unnest(@endpoints::text[]) AS endpoint, unnest(@replicas::uuid[]) AS replica) k
CROSS JOIN LATERAL ( -- OFFSET 0, here and below: each process is looked up by itself, whatever the statistics say when a whole fleet joins
    SELECT o.id, o.replica FROM agents o
    WHERE o.region = @region AND o.process_uid = k.process AND o.name = k.name AND o.endpoint = k.endpoint AND o.replica <> k.replica OFFSET 0) a
CROSS JOIN LATERAL (
    SELECT FROM agent_states s WHERE s.region = @region AND s.agent_id = a.id AND s.left_at IS NULL AND NOT s.doubted OFFSET 0) live
LEFT JOIN replicas r ON r.region = @region AND r.id = a.replica
WHERE k.process <> '';

-- name: LockAgentStates :many
SELECT s.agent_id, s.replica, s.status, s.override, s.kept, s.misses, s.connections, s.rooms, s.reserved, s.in_flight, s.owes_reply,
       s.hash, s.seq, s.doubted, (s.left_at IS NOT NULL)::bool AS has_left
FROM agent_states s
WHERE s.region = @region AND s.agent_id = ANY (@ids::text[])
ORDER BY s.agent_id FOR NO KEY UPDATE;

-- name: ReadAgents :many
-- last_sync is the time of the last known reply. Call it after LockAgentStates.
SELECT a.id, a.process_uid, a.name, a.endpoint, a.labels, a.room_types, a.max_connections, a.max_rooms, a.auto_create, a.agent_version,
       a.protocol_version, a.key, a.joined_at,
       greatest(s.synced_at, CASE WHEN s.misses = 0 THEN r.heard_since END)::timestamptz AS last_sync
FROM agents a
JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id
LEFT JOIN replicas r ON r.region = a.region AND r.id = a.replica
WHERE a.region = @region AND a.id = ANY (@ids::text[]);

-- name: ReadKeptDrains :many
SELECT k.name, k.endpoint, k.actor FROM kept_drains k
JOIN (SELECT unnest(@names::text[]) AS name, unnest(@endpoints::text[]) AS endpoint) w ON w.name = k.name AND w.endpoint = k.endpoint
WHERE k.region = @region;

-- name: PutAgents :exec
-- Inserts agents, or replaces what they report. Numbers that no agent reports mean unlimited.
INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, max_connections, max_rooms, auto_create, agent_version,
                    protocol_version, key, key_id, joined_at)
SELECT @region, n.id, n.replica, n.process_uid, n.name, n.endpoint, n.labels::jsonb, n.room_types::text[],
       nullif(n.max_connections, sqlc.arg(unlimited)::bigint)::int, nullif(n.max_rooms, sqlc.arg(unlimited)::bigint)::int, n.auto_create, n.agent_version,
       n.protocol_version, n.key, nullif(n.key_id, '00000000-0000-0000-0000-000000000000'), n.joined_at
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@replicas::uuid[]) AS replica, unnest(@process_uids::text[]) AS process_uid,
             unnest(@names::text[]) AS name, unnest(@endpoints::text[]) AS endpoint, unnest(@labels::text[]) AS labels,
             unnest(@room_types::text[]) AS room_types, unnest(@max_connections::bigint[]) AS max_connections,
             unnest(@max_rooms::bigint[]) AS max_rooms, unnest(@auto_creates::bool[]) AS auto_create,
             unnest(@agent_versions::text[]) AS agent_version, unnest(@protocol_versions::bigint[]) AS protocol_version,
             unnest(@keys::text[]) AS key, unnest(@key_ids::uuid[]) AS key_id, unnest(@joined::timestamptz[]) AS joined_at) n
ON CONFLICT (region, id) DO UPDATE SET
    process_uid = excluded.process_uid, name = excluded.name, endpoint = excluded.endpoint, labels = excluded.labels,
    room_types = excluded.room_types, max_connections = excluded.max_connections, max_rooms = excluded.max_rooms,
    auto_create = excluded.auto_create, agent_version = excluded.agent_version, protocol_version = excluded.protocol_version;

-- name: PutAgentStates :exec
-- Inserts the states of agents, or replaces those that the transaction has locked. A silence below 0 means that no reply came.
INSERT INTO agent_states (region, agent_id, replica, status, override, kept, misses, connections, rooms, reserved, in_flight, owes_reply,
                          hash, seq, synced_at, doubted, left_at)
SELECT @region, n.id, n.replica, n.status, nullif(n.override, ''), n.kept, n.misses, n.connections, n.rooms, n.reserved, n.in_flight, n.owes_reply,
       n.hash, n.seq, CASE WHEN n.silence < 0 THEN 'infinity' ELSE clock_timestamp() - make_interval(secs => n.silence) END, n.doubted,
       CASE WHEN n.has_left THEN clock_timestamp() END
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@replicas::uuid[]) AS replica, unnest(@statuses::text[]) AS status,
             unnest(@overrides::text[]) AS override, unnest(@kept::bool[]) AS kept, unnest(@misses::smallint[]) AS misses,
             unnest(@connections::bigint[]) AS connections, unnest(@rooms::int[]) AS rooms, unnest(@reserved::int[]) AS reserved,
             unnest(@in_flight::int[]) AS in_flight, unnest(@owes_reply::bool[]) AS owes_reply, unnest(@hashes::text[]) AS hash,
             unnest(@seqs::bigint[]) AS seq, unnest(@silences::float8[]) AS silence, unnest(@doubted::bool[]) AS doubted,
             unnest(@has_left::bool[]) AS has_left) n
ON CONFLICT (region, agent_id) DO UPDATE SET
    status = excluded.status, override = excluded.override, kept = excluded.kept, misses = excluded.misses, connections = excluded.connections,
    rooms = excluded.rooms, reserved = excluded.reserved, in_flight = excluded.in_flight, owes_reply = excluded.owes_reply, hash = excluded.hash,
    seq = excluded.seq, synced_at = CASE WHEN excluded.synced_at = 'infinity' THEN agent_states.synced_at ELSE excluded.synced_at END,
    doubted = excluded.doubted, left_at = excluded.left_at, tx = pg_current_xact_id();

-- name: PendingOfAgents :many
-- The pending commands of agents that the transaction has locked.
SELECT c.id, c.agent_id, c.caller, c.op, c.base
FROM agent_states s
JOIN commands c ON c.region = s.region AND c.replica = s.replica AND c.agent_id = s.agent_id AND c.state = 'pending'
WHERE s.region = @region AND s.agent_id = ANY (@ids::text[])
ORDER BY c.id;

-- name: SettleCommandsOfAgents :exec
-- Settles commands of agents that the transaction has locked. The agent of a command is the one that has carried it out.
UPDATE commands c SET state = n.state, agent_id = n.agent_id, settled_at = clock_timestamp(), tx = pg_current_xact_id()
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@states::text[]) AS state, unnest(@agents::text[]) AS agent_id) n
WHERE c.region = @region AND c.id = n.id;

-- name: InsertDrains :exec
-- Inserts drain commands without a waiting caller, for agents whose drain is kept.
INSERT INTO commands (region, id, agent_id, replica, op, actor, deadline)
SELECT @region, n.id, n.agent_id, n.replica, 'drain', n.actor, clock_timestamp() + interval '10 seconds'
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@agents::text[]) AS agent_id, unnest(@replicas::uuid[]) AS replica, unnest(@actors::text[]) AS actor) n;

-- name: LogAgentEvents :exec
INSERT INTO events (region, id, kind, actor, instance_id, detail)
SELECT @region, n.id, n.kind, n.actor, n.agent_id, n.detail::jsonb
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@kinds::text[]) AS kind, unnest(@actors::text[]) AS actor,
             unnest(@agents::text[]) AS agent_id, unnest(@details::text[]) AS detail) n;

-- name: ForgetAgents :execrows
-- Deletes agents that left ten minutes ago, a batch at a time.
WITH old AS (
    SELECT s.region, s.agent_id FROM agent_states s
    WHERE s.region = @region AND s.left_at < statement_timestamp() - interval '10 minutes'
    ORDER BY s.left_at LIMIT sqlc.arg(most)::bigint FOR UPDATE SKIP LOCKED
), forgotten AS (
    DELETE FROM agents a USING old o WHERE a.region = o.region AND a.id = o.agent_id
)
DELETE FROM agent_states s USING old o WHERE s.region = o.region AND s.agent_id = o.agent_id;

-- name: KeepDrain :one
SELECT k.changed::bool AS changed, k.replicas::uuid[] AS replicas FROM keep_drain(@region, @name, @endpoint, @actor, sqlc.arg(keep)::bool) AS k(changed, replicas);

-- name: RemindKeptDrains :many
-- Inserts drain commands for agents whose drain is kept, whose status is not draining, and that have no pending command: an earlier command
-- timed out or failed. Returns the replicas that must send the commands.
WITH idle AS (
    SELECT s.region, s.agent_id, s.replica, coalesce(k.actor, 'director') AS actor
    FROM kept_drains k
    JOIN agents a ON a.region = k.region AND a.name = k.name AND a.endpoint = k.endpoint
    JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id
    WHERE k.region = @region AND s.kept AND s.left_at IS NULL AND NOT s.doubted AND s.in_flight = 0 AND s.misses < 2
      AND coalesce(s.override, s.status) <> 'draining'
    ORDER BY s.agent_id LIMIT sqlc.arg(most)::bigint FOR NO KEY UPDATE OF s SKIP LOCKED
), counted AS (
    UPDATE agent_states s SET in_flight = s.in_flight + 1, tx = pg_current_xact_id() FROM idle i
    WHERE s.region = i.region AND s.agent_id = i.agent_id
), sent AS (
    INSERT INTO commands (region, id, agent_id, replica, op, actor, deadline)
    SELECT i.region, gen_random_uuid(), i.agent_id, i.replica, 'drain', i.actor, clock_timestamp() + interval '10 seconds' FROM idle i
)
SELECT i.replica FROM idle i;

-- name: CreateAgentKey :execrows
INSERT INTO agent_keys (region, id, name, digest, bound_name, bound_labels)
SELECT @region, @id, @name, @digest, sqlc.narg(bound_name), @bound_labels
WHERE (SELECT count(*) FROM agent_keys k WHERE k.region = @region AND k.revoked_at IS NULL) < sqlc.arg(most)::bigint;

-- name: RevokeAgentKey :execrows
UPDATE agent_keys SET revoked_at = now() WHERE region = @region AND name = @name AND revoked_at IS NULL;

-- name: AgentKeys :many
SELECT k.id, k.name, k.digest, k.bound_name, k.bound_labels, k.created_at FROM agent_keys k
WHERE k.region = @region AND k.revoked_at IS NULL ORDER BY k.name;

-- name: LogAgentKey :exec
INSERT INTO events (region, kind, actor, detail) VALUES (@region, @kind, @actor, @detail);
