-- name: RosterSince :many
-- Returns two pages of changed agents with their rooms, from one snapshot. The first (late) has agents changed by transactions that were in
-- progress in the snapshot @before and have committed since. The second has agents changed by transaction @since or later ones. Agents that
-- left are included. OFFSET 0 makes the planner look up each agent separately.
WITH changed AS (
    (SELECT true AS late, l.* FROM pg_snapshot_xip(sqlc.arg(before)::text::pg_snapshot) p(tx) CROSS JOIN LATERAL (
        SELECT o.agent_id, o.replica, agent_status(o)::text AS status, o.misses, o.connections, o.synced_at, o.doubted, o.left_at, o.tx
        FROM agent_states o WHERE o.region = @region AND o.tx = p.tx OFFSET 0) l
     WHERE p.tx > @after::xid8 ORDER BY l.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES)
    UNION ALL
    (SELECT false AS late, o.agent_id, o.replica, agent_status(o)::text AS status, o.misses, o.connections, o.synced_at, o.doubted, o.left_at, o.tx
     FROM agent_states o WHERE o.region = @region AND o.tx >= @since::xid8 ORDER BY o.tx FETCH FIRST sqlc.arg(page) ROWS WITH TIES)
)
SELECT c.late, c.agent_id, c.replica, c.status, c.misses, c.connections, c.synced_at, c.doubted, (c.left_at IS NOT NULL)::bool AS has_left, c.tx,
       a.process_uid, a.name, a.endpoint, a.labels, a.room_types, a.max_connections, a.max_rooms, a.auto_create, a.agent_version,
       a.protocol_version, a.joined_at, r.ids::text[] AS ids, r.types::text[] AS types, r.players::int[] AS players, r.locals::bool[] AS locals
FROM changed c
CROSS JOIN LATERAL (SELECT i.* FROM agents i WHERE i.region = @region AND i.id = c.agent_id OFFSET 0) a
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(o.id), '{}') AS ids, coalesce(array_agg(o.type), '{}') AS types, coalesce(array_agg(o.connections), '{}') AS players,
           coalesce(array_agg(o.local), '{}') AS locals
    FROM rooms o WHERE o.region = @region AND o.agent_id = c.agent_id AND o.state <> 'reserved') r
ORDER BY c.late DESC, c.tx;

-- name: RosterAfter :many
-- Returns a page of the agents that have not left, ordered by id, with their rooms.
SELECT false AS late, c.agent_id, c.replica, c.status, c.misses, c.connections, c.synced_at, c.doubted, false AS has_left, c.tx,
       a.process_uid, a.name, a.endpoint, a.labels, a.room_types, a.max_connections, a.max_rooms, a.auto_create, a.agent_version,
       a.protocol_version, a.joined_at, r.ids::text[] AS ids, r.types::text[] AS types, r.players::int[] AS players, r.locals::bool[] AS locals
FROM (SELECT o.agent_id, o.replica, agent_status(o)::text AS status, o.misses, o.connections, o.synced_at, o.doubted, o.tx
      FROM agent_states o WHERE o.region = @region AND o.agent_id > sqlc.arg(after)::text AND o.left_at IS NULL ORDER BY o.agent_id LIMIT sqlc.arg(page)) c
CROSS JOIN LATERAL (SELECT i.* FROM agents i WHERE i.region = @region AND i.id = c.agent_id OFFSET 0) a
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(o.id), '{}') AS ids, coalesce(array_agg(o.type), '{}') AS types, coalesce(array_agg(o.connections), '{}') AS players,
           coalesce(array_agg(o.local), '{}') AS locals
    FROM rooms o WHERE o.region = @region AND o.agent_id = c.agent_id AND o.state <> 'reserved') r
ORDER BY c.agent_id;

-- name: RosterReplicas :many
-- Returns the replicas of a region's orchestrator. listed means that lists show their agents. It is false once the agents must leave (see AgentsToEnd); a worker
-- ends them shortly after that.
SELECT r.id, greatest(r.heard_since, 'epoch')::timestamptz AS heard_since, (CASE
    WHEN r.ended_at IS NULL THEN r.seen_at > (SELECT replica_horizon(sqlc.arg(region)))
    WHEN EXISTS (SELECT FROM replicas o WHERE o.region = @region AND o.face = 'orchestrator' AND o.ended_at IS NULL)
    THEN r.rows_until > (SELECT replica_horizon(sqlc.arg(region))) + (SELECT c.lease_ttl FROM fleet_clock c)
    ELSE r.rows_until > clock_timestamp() END)::bool AS listed
FROM replicas r WHERE r.region = @region AND r.face = 'orchestrator';
