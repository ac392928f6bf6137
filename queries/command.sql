-- Rooms that callers create and destroy, and the commands that do so. The lock of an agent's row in agent_states protects its rooms and its
-- commands: every statement that writes them runs after that row was locked.

-- name: TakenRooms :many
-- Returns the ids that are taken: a room, even one that is only reserved, has this public id.
SELECT r.id FROM rooms r WHERE r.region = @region AND r.id = ANY (@ids::text[]);

-- name: RoomCandidates :many
-- Returns the agents that may host a room of each type with these labels, as many as spread can need for so many rooms: the best agents by
-- strategy, and one agent with the maximum of commands in flight, which is the reason for INSTANCE_BUSY. A sign of 1 means that the least loaded
-- agents are the best, -1 the most loaded, 0 any. Agents are compared by connections if at least one of them declares no maximum. If these
-- rooms may fill up the last agent without a maximum, all candidates are returned, because shares are compared from then on. A replica whose last renewal
-- is two seconds older than another's may be frozen: its agents are candidates only if there are no others.
WITH wanted AS (
    SELECT unnest(@groups::int[]) AS n, unnest(@types::text[]) AS type, unnest(@labels::text[])::jsonb AS labels, unnest(@signs::int[]) AS sign, @most::int AS most
), live AS MATERIALIZED (
    SELECT r.id, (r.seen_at > max(r.seen_at) OVER () - interval '2 seconds')::bool AS fresh FROM replicas r
    WHERE r.region = @region AND r.face = 'orchestrator' AND r.ended_at IS NULL AND r.seen_at > (SELECT replica_horizon(@region))
), placeable AS (
    SELECT w.n, w.sign, w.most, a.id, a.max_connections, a.max_rooms, s.connections, s.rooms + s.reserved AS rooms, s.in_flight,
           s.in_flight >= @max_in_flight::int AS busy, l.fresh
    FROM wanted w
    JOIN agents a ON a.room_types @> ARRAY[w.type] AND a.labels @> w.labels
    JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id
    JOIN live l ON l.id = s.replica
    WHERE a.region = @region AND a.auto_create
      AND s.left_at IS NULL AND NOT s.doubted AND s.misses < 2
      AND NOT s.kept AND (s.override = 'active' OR s.override IS NULL AND s.status = 'active') -- agent_status(s), as the planner can estimate it
      AND (a.max_rooms IS NULL OR s.rooms + s.reserved < a.max_rooms)
      AND (a.max_connections IS NULL OR s.connections < a.max_connections)
), preferred AS (
    SELECT p.*, bool_or(p.fresh AND NOT p.busy) OVER (PARTITION BY p.n) AS any_fresh FROM placeable p
), open AS (
    SELECT p.*, random() AS tie, count(*) FILTER (WHERE p.max_connections IS NULL) OVER (PARTITION BY p.n) AS undeclared
    FROM preferred p WHERE p.fresh OR NOT p.any_fresh
), ranked AS (
    SELECT o.*, row_number() OVER (PARTITION BY o.n, o.busy ORDER BY
        CASE WHEN o.busy THEN (o.max_connections IS NOT NULL)::int
             WHEN o.undeclared = 0 THEN o.sign * o.connections::float8 / o.max_connections
             ELSE o.sign * o.connections END,
        abs(o.sign) * o.rooms, o.tie) AS rank
    FROM open o
)
SELECT c.n::int AS "group", c.id, c.max_connections, c.max_rooms, c.connections, c.rooms::int AS rooms, c.in_flight, c.undeclared::int AS undeclared
FROM ranked c
WHERE c.rank <= CASE WHEN c.busy THEN 1 ELSE c.most + (1 - abs(c.sign)) * 32 END OR c.undeclared BETWEEN 1 AND c.most;

-- name: RoomHosts :many
-- Returns listed agents as hosts of rooms: the agents with the given ids, and the most recently joined agent of each given process. fresh means
-- that the agent's replica is not frozen, as in RoomCandidates.
SELECT a.id, a.process_uid, a.joined_at, s.replica, a.room_types, a.labels, a.max_connections, a.max_rooms, a.auto_create, s.connections,
       (s.rooms + s.reserved)::int AS rooms, s.in_flight,
       agent_status(s) AS status,
       (s.misses >= 2 OR r.ended_at IS NOT NULL OR r.seen_at <= (SELECT replica_horizon(@region)))::bool AS stale,
       coalesce(r.seen_at > (SELECT max(o.seen_at) FROM replicas o WHERE o.region = @region AND o.face = 'orchestrator' AND o.ended_at IS NULL)
           - interval '2 seconds', false)::bool AS fresh
FROM agents a
JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id AND s.left_at IS NULL AND NOT s.doubted
JOIN replicas r ON r.region = s.region AND r.id = s.replica
WHERE a.region = @region AND a.id = ANY (@ids::text[] || ARRAY(
    SELECT l.id FROM (SELECT DISTINCT unnest(@processes::text[]) AS uid) p CROSS JOIN LATERAL (
        SELECT x.id FROM agents x JOIN agent_states y ON y.region = x.region AND y.agent_id = x.id AND y.left_at IS NULL AND NOT y.doubted
        WHERE x.region = @region AND x.process_uid = p.uid ORDER BY x.joined_at DESC, x.id DESC LIMIT 1) l));

-- name: ReserveRooms :many
-- Reserves rooms on agents that this transaction has locked, and inserts the commands that create them. Returns the rooms that got their id.
-- If another room has taken the id, nothing is written for the room. The rows are sorted, so that transactions that insert the same ids wait
-- for each other in one order.
WITH wanted AS (
    SELECT unnest(@ids::text[]) AS id, unnest(@agents::text[]) AS agent_id, unnest(@replicas::uuid[]) AS replica, unnest(@types::text[]) AS type,
           unnest(@commands::uuid[]) AS command, unnest(@callers::uuid[]) AS caller, unnest(@actors::text[]) AS actor, unnest(@timeouts::float8[]) AS timeout
), made AS (
    INSERT INTO rooms (region, id, agent_id, base, type, state, command)
    SELECT @region, w.id, w.agent_id, w.id, w.type, 'reserved', w.command FROM wanted w ORDER BY w.id
    ON CONFLICT DO NOTHING
    RETURNING id, agent_id, command
), sent AS (
    INSERT INTO commands (region, id, agent_id, replica, caller, op, room, base, type, actor, deadline)
    SELECT @region, w.command, w.agent_id, w.replica, nullif(w.caller, '00000000-0000-0000-0000-000000000000'), 'create', w.id, w.id, w.type, w.actor,
           clock_timestamp() + make_interval(secs => w.timeout)
    FROM wanted w JOIN made m ON m.command = w.command
    RETURNING id, deadline
), counted AS (
    UPDATE agent_states s SET reserved = s.reserved + n.rooms, in_flight = s.in_flight + n.rooms
    FROM (SELECT m.agent_id, count(*)::int AS rooms FROM made m GROUP BY m.agent_id) n
    WHERE s.region = @region AND s.agent_id = n.agent_id
)
SELECT t.id::uuid AS id, t.deadline FROM sent t;

-- name: RoomsToDestroy :many
-- Rooms that callers see, by public id.
SELECT r.id, r.agent_id, r.base FROM rooms r
JOIN agent_states s ON s.region = r.region AND s.agent_id = r.agent_id AND s.left_at IS NULL AND NOT s.doubted
WHERE r.region = @region AND r.id = ANY (@ids::text[]) AND r.state <> 'reserved';

-- name: SendCommands :many
-- Inserts commands for agents that this transaction has locked, other than those that create rooms.
WITH wanted AS (
    SELECT unnest(@ids::uuid[]) AS id, unnest(@agents::text[]) AS agent_id, unnest(@replicas::uuid[]) AS replica, unnest(@callers::uuid[]) AS caller,
           unnest(@ops::text[]) AS op, unnest(@rooms::text[]) AS room, unnest(@bases::text[]) AS base, unnest(@actors::text[]) AS actor,
           unnest(@timeouts::float8[]) AS timeout
), counted AS (
    UPDATE agent_states s SET in_flight = s.in_flight + n.commands
    FROM (SELECT w.agent_id, count(*)::int AS commands FROM wanted w GROUP BY w.agent_id) n
    WHERE s.region = @region AND s.agent_id = n.agent_id
)
INSERT INTO commands (region, id, agent_id, replica, caller, op, room, base, actor, deadline)
SELECT @region, w.id, w.agent_id, w.replica, nullif(w.caller, '00000000-0000-0000-0000-000000000000'), w.op, nullif(w.room, ''),
       CASE WHEN w.op = 'destroy' THEN w.base END, w.actor, clock_timestamp() + make_interval(secs => w.timeout)
FROM wanted w
RETURNING id, deadline;

-- name: PendingCommands :many
-- Returns a page of the commands that a replica must send, oldest first. Commands past their deadline are not sent.
SELECT c.id, c.agent_id, c.op, c.room, c.base, c.type, c.deadline FROM commands c
WHERE c.region = @region AND c.replica = @replica AND c.state = 'pending' AND c.deadline > clock_timestamp() AND c.id > @after
ORDER BY c.id LIMIT @page;

-- name: AcknowledgedCommands :many
-- Returns commands of agents that the transaction has locked, with the room that the ack changes: the agent's room with that base, if there is one.
SELECT c.id, c.agent_id, c.caller, c.op, coalesce(c.room, '')::text AS room, coalesce(c.base, '')::text AS base, coalesce(c.type, '')::text AS type, c.actor, c.state,
       a.process_uid, a.endpoint, a.joined_at,
       coalesce(r.id, '')::text AS room_id, coalesce(r.type, '')::text AS room_type, coalesce(r.connections, 0)::int AS connections,
       coalesce(r.local, false)::bool AS local, coalesce(r.state, '')::text AS room_state, coalesce(r.command = c.id, false)::bool AS room_is_its
FROM commands c
JOIN agents a ON a.region = c.region AND a.id = c.agent_id
LEFT JOIN rooms r ON r.region = c.region AND r.agent_id = c.agent_id AND r.base = c.base
WHERE c.region = @region AND c.id = ANY (@ids::uuid[]);

-- name: SettleAcknowledged :exec
-- Settles commands, at most one for each agent, and changes the counters of the agents, which this transaction has locked.
WITH acked AS (
    SELECT unnest(@ids::uuid[]) AS id, unnest(@agents::text[]) AS agent_id, unnest(@states::text[]) AS state, unnest(@errors::text[]) AS error,
           unnest(@settled::int[]) AS settled, unnest(@rooms::int[]) AS rooms, unnest(@reserved::int[]) AS reserved,
           unnest(@connections::bigint[]) AS connections, unnest(@overrides::text[]) AS override, unnest(@owing::bool[]) AS owing
), commanded AS (
    UPDATE commands c SET state = a.state, error = nullif(a.error, ''), settled_at = clock_timestamp(), tx = pg_current_xact_id()
    FROM acked a WHERE c.region = @region AND c.id = a.id
)
UPDATE agent_states s SET in_flight = s.in_flight - a.settled, rooms = s.rooms + a.rooms, reserved = s.reserved + a.reserved,
    connections = s.connections + a.connections, override = coalesce(nullif(a.override, ''), s.override), owes_reply = s.owes_reply OR a.owing,
    tx = pg_current_xact_id()
FROM acked a WHERE s.region = @region AND s.agent_id = a.agent_id;

-- name: ConfirmRooms :exec
-- Marks reserved rooms as created.
UPDATE rooms r SET state = 'created' WHERE r.region = @region AND r.id = ANY (@ids::text[]) AND r.state = 'reserved';

-- name: InsertLateRooms :exec
-- Inserts rooms whose create command was acked after the reservation had ended.
INSERT INTO rooms (region, id, agent_id, base, type, state, command)
SELECT @region, n.id, n.agent_id, n.base, n.type, 'created', n.command
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@agents::text[]) AS agent_id, unnest(@bases::text[]) AS base, unnest(@types::text[]) AS type,
             unnest(@commands::uuid[]) AS command) n
ORDER BY n.id;

-- name: RenameRooms :exec
-- Gives rooms of agents that this transaction has locked other public ids.
WITH renamed AS (
    UPDATE rooms r SET id = n.id
    FROM (SELECT unnest(@was::text[]) AS was, unnest(@ids::text[]) AS id) n
    WHERE r.region = @region AND r.id = n.was
)
UPDATE agent_states s SET tx = pg_current_xact_id() WHERE s.region = @region AND s.agent_id = ANY (@agents::text[]);

-- name: AgentsOfCommands :many
-- The agents of commands that are pending after their deadline.
SELECT DISTINCT c.agent_id FROM commands c
WHERE c.region = @region AND c.id = ANY (@ids::uuid[]) AND c.state = 'pending' AND c.deadline <= clock_timestamp();

-- name: ExpireCommands :many
-- Settles commands that are pending after their deadline, of agents that this transaction has locked. The room of a create stays reserved until
-- the agent's next reply, which shows whether the room exists.
WITH due AS (
    UPDATE commands c SET state = 'timed_out', settled_at = clock_timestamp(), tx = pg_current_xact_id()
    WHERE c.region = @region AND c.id = ANY (@ids::uuid[]) AND c.agent_id = ANY (@agents::text[]) AND c.state = 'pending' AND c.deadline <= clock_timestamp()
    RETURNING c.id, c.agent_id, c.replica, c.caller, c.op, c.room, c.actor
), counted AS (
    UPDATE agent_states s SET in_flight = s.in_flight - n.commands, owes_reply = s.owes_reply OR n.creates > 0, tx = pg_current_xact_id()
    FROM (SELECT d.agent_id, count(*)::int AS commands, count(*) FILTER (WHERE d.op = 'create') AS creates FROM due d GROUP BY d.agent_id) n
    WHERE s.region = @region AND s.agent_id = n.agent_id
), logged AS (
    INSERT INTO events (region, kind, actor, instance_id, detail)
    SELECT @region, 'command.timed_out', d.actor, d.agent_id, jsonb_strip_nulls(jsonb_build_object('command', d.id, 'op', d.op, 'room', d.room)) FROM due d
)
SELECT d.replica, coalesce(d.caller, d.replica)::uuid AS caller FROM due d;

-- name: ForgottenCommands :many
-- Returns pending commands whose deadline passed longer ago than @overdue, the most overdue first. Their callers' replicas have ended.
SELECT c.id FROM commands c
WHERE c.region = @region AND c.settled_at IS NULL AND c.deadline < statement_timestamp() - sqlc.arg(overdue)::interval
ORDER BY c.deadline LIMIT @batch;

-- name: DeleteSettledCommands :execrows
-- Deletes commands that were settled a minute ago, or ten minutes ago if the agent may still answer late.
DELETE FROM commands c WHERE c.region = @region AND c.id = ANY (ARRAY(
    SELECT d.id FROM commands d
    WHERE d.region = @region AND d.settled_at < statement_timestamp() - interval '1 minute'
      AND (d.state NOT IN ('timed_out', 'done_late') OR d.settled_at < statement_timestamp() - interval '10 minutes')
    ORDER BY d.settled_at LIMIT @batch FOR UPDATE SKIP LOCKED));

-- name: CommandAnswers :many
-- Returns the outcomes of commands. The agent of a created room is the one that has the room now, even if the command was sent to another agent.
SELECT c.id, c.state, c.tx, coalesce(r.id, c.room, '')::text AS room, coalesce(r.agent_id, c.agent_id)::text AS agent,
       coalesce(r.type, c.type, '')::text AS type, coalesce(r.connections, 0)::int AS connections, coalesce(r.local, false)::bool AS local,
       coalesce(a.endpoint, '')::text AS endpoint
FROM commands c
LEFT JOIN rooms r ON c.op = 'create' AND c.state IN ('done', 'done_late') AND r.region = c.region AND r.id = c.room AND r.state <> 'reserved'
LEFT JOIN agents a ON a.region = c.region AND a.id = coalesce(r.agent_id, c.agent_id)
WHERE c.region = @region AND c.id = ANY (@ids::uuid[]);

-- name: FindRooms :many
SELECT r.id, r.type, r.connections, r.agent_id, a.endpoint, r.local
FROM rooms r
JOIN agents a ON a.region = r.region AND a.id = r.agent_id
JOIN agent_states s ON s.region = r.region AND s.agent_id = r.agent_id AND s.left_at IS NULL AND NOT s.doubted
WHERE r.region = @region AND r.id = ANY (@ids::text[]) AND r.state <> 'reserved';

-- name: FindAgents :many
-- Returns listed agents without their rooms. last_sync is the time of the last known reply.
SELECT a.id, a.name, a.process_uid, a.endpoint, a.labels, a.room_types, a.max_connections, a.max_rooms, a.auto_create, a.agent_version, a.protocol_version,
       s.rooms, s.kept, agent_status(s) AS status,
       greatest(s.synced_at, CASE WHEN s.misses = 0 THEN r.heard_since END)::timestamptz AS last_sync
FROM agents a
JOIN agent_states s ON s.region = a.region AND s.agent_id = a.id AND s.left_at IS NULL AND NOT s.doubted
LEFT JOIN replicas r ON r.region = s.region AND r.id = s.replica
WHERE a.region = @region AND a.id = ANY (@ids::text[]);

-- name: RoomsOfFoundAgents :many
SELECT r.id, r.type, r.connections, r.agent_id, r.local FROM rooms r
WHERE r.region = @region AND r.agent_id = ANY (@agents::text[]) AND r.state <> 'reserved'
ORDER BY r.id;
