-- name: ReadRooms :many
-- Rooms by agent and base, of agents that the transaction has locked.
SELECT r.id, r.agent_id, r.base, r.type, r.connections, r.local, r.state, r.command
FROM (SELECT unnest(@agents::text[]) AS agent_id, unnest(@bases::text[]) AS base) k
JOIN rooms r ON r.region = @region AND r.agent_id = k.agent_id AND r.base = k.base;

-- name: RoomsOfAgents :many
-- Returns all rooms of agents that the transaction has locked. Rooms of the agents in @judged are returned only if the agent is stale or its
-- next reply decides about rooms. settled_for is the time in seconds since the command that reserved the room timed out; below 0 if it is pending.
SELECT r.id, r.agent_id, r.base, r.type, r.connections, r.local, r.state, r.command,
       (CASE WHEN r.state <> 'reserved' OR c.state = 'pending' THEN -1
             ELSE coalesce(extract(epoch FROM clock_timestamp() - c.settled_at), 600) END)::float8 AS settled_for
FROM (SELECT k.id FROM unnest(@agents::text[]) AS k(id)
      UNION
      SELECT s.agent_id FROM agent_states s
      WHERE s.region = @region AND s.agent_id = ANY (@judged::text[]) AND (s.owes_reply OR s.misses >= 2)) k
JOIN rooms r ON r.region = @region AND r.agent_id = k.id
LEFT JOIN commands c ON c.region = r.region AND c.id = r.command;

-- name: RoomHolders :many
-- Returns the rooms that have the public ids, with the properties on which their public ids depend.
SELECT r.id, r.agent_id, r.base, r.type, r.connections, r.local, r.state, r.command, a.process_uid, a.joined_at, a.endpoint
FROM rooms r JOIN agents a ON a.region = r.region AND a.id = r.agent_id
WHERE r.region = @region AND r.id = ANY (@ids::text[]);

-- name: DeleteRooms :exec
DELETE FROM rooms r WHERE r.region = @region AND r.id = ANY (@ids::text[]);

-- name: PutRooms :exec
-- Changes rooms, including their public ids and agents.
UPDATE rooms r SET id = n.id, agent_id = n.agent_id, type = n.type, connections = n.connections, local = n.local, state = n.state
FROM (SELECT unnest(@was::text[]) AS was, unnest(@ids::text[]) AS id, unnest(@agents::text[]) AS agent_id, unnest(@types::text[]) AS type,
             unnest(@connections::int[]) AS connections, unnest(@locals::bool[]) AS local, unnest(@states::text[]) AS state) n
WHERE r.region = @region AND r.id = n.was;

-- name: InsertRooms :exec
INSERT INTO rooms (region, id, agent_id, base, type, connections, local, state)
SELECT @region, n.id, n.agent_id, n.base, n.type, n.connections, n.local, 'reported'
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@agents::text[]) AS agent_id, unnest(@bases::text[]) AS base, unnest(@types::text[]) AS type,
             unnest(@connections::int[]) AS connections, unnest(@locals::bool[]) AS local) n
ORDER BY n.id; -- an insert waits for an uncommitted room of the same id: in one order, so that none deadlock
