-- Sessions whose instance is the process of an agent: each is a room with the session's id. Placement and the director loop reserve the
-- room and insert the create command in the transaction that opens the session. internal/rivalis/roomhost registers the processes and runs the other
-- statements.

-- name: RequestRooms :many
-- For sessions that have no room: reserves it and inserts the command, on the connection that the process made last. A session gets none
-- while that agent has 32 commands in flight, as many rooms as it takes, or no connection, and while another transaction holds its lock: this one
-- holds those of instances, which must not wait for an agent. roomhost asks again.
-- Returns the replicas to notify, and the zero id if a session got no room.
WITH wanted AS (
    SELECT unnest(@sessions::uuid[]) AS session, unnest(@instances::text[]) AS process, unnest(@modes::text[]) AS mode
), host AS (
    SELECT DISTINCT ON (w.process) w.process, s.agent_id
    FROM (SELECT DISTINCT n.process FROM wanted n) w
    JOIN agents a ON a.region = @region AND a.process_uid = w.process
    JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id AND s.left_at IS NULL AND NOT s.doubted
    ORDER BY w.process, a.joined_at DESC, a.id DESC
), held AS (
    SELECT h.process, s.agent_id, s.replica, s.in_flight, s.rooms + s.reserved AS rooms, a.max_rooms
    FROM host h
    JOIN agent_states s ON s.region = @region AND s.agent_id = h.agent_id AND s.left_at IS NULL AND NOT s.doubted
    JOIN agents a ON a.region = s.region AND a.id = s.agent_id
    ORDER BY s.agent_id FOR NO KEY UPDATE OF s SKIP LOCKED
), numbered AS (
    SELECT w.session, w.mode, h.*, row_number() OVER (PARTITION BY h.agent_id ORDER BY w.session) AS n
    FROM wanted w JOIN held h ON h.process = w.process
), reserved AS (
    INSERT INTO rooms (region, id, agent_id, base, type, state, command)
    SELECT @region, n.session::text, n.agent_id, n.session::text, n.mode, 'reserved', gen_random_uuid() FROM numbered n
    WHERE n.n <= 32 - n.in_flight AND (n.max_rooms IS NULL OR n.rooms + n.n <= n.max_rooms)
    ORDER BY n.session
    ON CONFLICT DO NOTHING
    RETURNING id, agent_id, type, command
), asked AS (
    INSERT INTO commands (region, id, agent_id, replica, op, room, base, type, deadline)
    SELECT @region, r.command, r.agent_id, h.replica, 'create', r.id, r.id, r.type, clock_timestamp() + sqlc.arg(timeout)::interval
    FROM reserved r JOIN held h ON h.agent_id = r.agent_id
), counted AS (
    UPDATE agent_states s SET reserved = s.reserved + c.n, in_flight = s.in_flight + c.n, tx = pg_current_xact_id()
    FROM (SELECT r.agent_id, count(*) AS n FROM reserved r GROUP BY r.agent_id) c
    WHERE s.region = @region AND s.agent_id = c.agent_id
)
SELECT DISTINCT coalesce(h.replica, '00000000-0000-0000-0000-000000000000')::uuid AS replica
FROM wanted w LEFT JOIN (reserved r JOIN held h ON h.agent_id = r.agent_id) ON r.id = w.session::text COLLATE "C";

-- name: HostProcesses :many
-- Returns the processes that host sessions and whose newest connection the replica holds, with their instances if they are registered. taken
-- means that another game server is registered under the id. others counts rooms that do not belong to sessions.
SELECT a.process_uid, a.endpoint, a.room_types, a.max_connections, a.max_rooms, a.auto_create, s.connections, agent_status(s)::text AS status,
       (s.misses > 0)::bool AS silent, (s.rooms + s.reserved - (
           SELECT count(*) FROM sessions o JOIN rooms r ON r.region = o.region AND r.agent_id = a.id AND r.base = o.id::text COLLATE "C"
           WHERE o.region = a.region AND o.instance_id = a.process_uid))::int AS others,
       coalesce(d.region <> a.region OR NOT i.creates_rooms, false)::bool AS taken,
       coalesce(l.heartbeat_at > (SELECT lease_horizon()), false)::bool AS alive,
       coalesce(i.incarnation, '00000000-0000-0000-0000-000000000000')::uuid AS incarnation, coalesce(i.status, 'gone')::text AS instance_status,
       coalesce(i.status = 'draining' AND NOT i.drain_kept, false)::bool AS instance_drains_itself,
       coalesce(i.endpoint, '')::text AS instance_endpoint, coalesce(i.modes, '{}')::text[] AS instance_modes, coalesce(i.capacity, 0)::int AS instance_capacity,
       i.max_sessions AS instance_max_sessions
FROM ( -- OFFSET 0: the partial index of hosts first, which is empty in most fleets
    SELECT o.* FROM agents o
    WHERE o.region = @region AND o.replica = @replica AND o.labels ->> 'matchmaking' = 'true' AND o.process_uid ~ '^p_[0-9a-f]{24}$' OFFSET 0) a
JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id AND s.replica = a.replica AND s.left_at IS NULL AND NOT s.doubted
LEFT JOIN instance_directory d ON d.instance_id = a.process_uid
LEFT JOIN instances i ON i.region = d.region AND i.id = d.instance_id
LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
WHERE NOT EXISTS (SELECT FROM agents o JOIN agent_states os ON os.region = o.region AND os.agent_id = o.id AND os.left_at IS NULL AND NOT os.doubted
                  WHERE o.region = a.region AND o.process_uid = a.process_uid AND (o.joined_at, o.id) > (a.joined_at, a.id))
ORDER BY a.process_uid LIMIT sqlc.arg(most);

-- name: LimitSessions :exec
-- Sets the maximum number of sessions of instances.
UPDATE instances i SET max_sessions = n.most
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@most::int[]) AS most) n
WHERE i.region = @region AND i.id = n.id AND i.max_sessions IS DISTINCT FROM n.most;

-- name: UnsettledRooms :many
-- Returns the sessions on processes of the replica's agents whose room was just created or does not exist. The join with agents keeps the rooms of a
-- process without a connection from counting as gone. A room that another connection of the process showed first has another public id.
SELECT s.id, s.mode, s.instance_id, (s.room_at IS NOT NULL)::bool AS had_room, coalesce(r.state, o.state, '')::text AS room,
       (clock_timestamp() - s.opened_at)::interval AS age
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.creates_rooms
LEFT JOIN rooms r ON r.region = s.region AND r.id = s.id::text COLLATE "C"
LEFT JOIN LATERAL (
    SELECT x.state FROM agents a JOIN rooms x ON x.region = a.region AND x.agent_id = a.id AND x.base = s.id::text COLLATE "C"
    WHERE r.id IS NULL AND a.region = s.region AND a.process_uid = s.instance_id LIMIT 1) o ON true
WHERE s.region = @region AND s.instance_id = ANY (@processes::text[]) AND (s.room_at IS NULL OR r.id IS NULL AND o.state IS NULL)
  AND EXISTS (SELECT FROM agents a JOIN agent_states t ON t.region = a.region AND t.agent_id = a.id AND t.left_at IS NULL AND NOT t.doubted AND t.replica = @replica
              WHERE a.region = s.region AND a.process_uid = s.instance_id)
ORDER BY s.id LIMIT sqlc.arg(most);

-- name: MarkRooms :exec
UPDATE sessions s SET room_at = clock_timestamp()
FROM (SELECT o.id FROM sessions o WHERE o.region = @region AND o.id = ANY (@ids::uuid[]) ORDER BY o.id FOR NO KEY UPDATE SKIP LOCKED) n
WHERE s.region = @region AND s.id = n.id;

-- name: OrphanedRooms :many
-- Returns rooms of the replica's agents whose session has ended.
SELECT r.id FROM agents a
JOIN agent_states t ON t.region = a.region AND t.agent_id = a.id AND t.left_at IS NULL AND NOT t.doubted AND t.replica = @replica
JOIN rooms r ON r.region = a.region AND r.agent_id = a.id AND r.state <> 'reserved' AND NOT r.local AND r.base ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
WHERE a.region = @region AND a.process_uid = ANY (@processes::text[])
  AND NOT EXISTS (SELECT FROM sessions s WHERE s.region = r.region AND s.id = r.base::uuid)
  AND EXISTS (SELECT FROM session_history h WHERE h.region = r.region AND h.id = r.base::uuid AND h.closed_at > now() - sqlc.arg(memory)::interval)
  AND NOT EXISTS (SELECT FROM commands c WHERE c.region = r.region AND c.replica = t.replica AND c.agent_id = a.id AND c.state = 'pending' AND c.op = 'destroy' AND c.room = r.id)
ORDER BY r.id LIMIT sqlc.arg(most);
