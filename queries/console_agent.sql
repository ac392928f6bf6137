-- The console's page of rooms and agents.

-- name: ConsoleAgents :many
-- Returns a page of connected game servers in the order of region and id, after (@after_region, @after). @state is a state or a status.
SELECT a.region, a.agent, a.name, a.process, a.endpoint, a.state::text AS state, a.status::text AS status, a.drain_kept, a.rooms, a.reserved_rooms, a.max_rooms,
       a.connections::bigint AS connections, a.max_connections, a.commands_in_flight, a.auto_create, a.room_types, a.labels, a.version, a.key, a.replica, a.joined_at,
       coalesce(a.last_reply, 'epoch')::timestamptz AS last_reply
FROM ops.agents a
WHERE (a.region, a.agent) > (@after_region::text, @after::text)
  AND (@state::text = '' OR @state::text IN (a.state, a.status)) AND (@text::text = '' OR starts_with(a.agent, @text::text) OR strpos(a.name, @text::text) > 0)
ORDER BY a.region, a.agent LIMIT @most;

-- name: ConsoleRooms :many
-- Returns a page of rooms in the order of region and id, after (@after_region, @after).
SELECT r.region, r.room, r.agent, r.agent_name, r.type, r.connections, r.local, r.state, r.endpoint
FROM ops.rooms r
WHERE (r.region, r.room) > (@after_region::text, @after::text)
  AND (@agent::text = '' OR r.agent = @agent::text) AND (@text::text = '' OR starts_with(r.room, @text::text) OR r.type = @text::text)
ORDER BY r.region, r.room LIMIT @most;

-- name: ConsoleCommands :many
-- Returns the latest commands. Those that were settled minutes ago are deleted, so there are few.
SELECT c.region, c.command, c.op, c.state, c.agent, coalesce(c.agent_name, '')::text AS agent_name, coalesce(c.room, '')::text AS room, coalesce(c.type, '')::text AS type,
       c.actor, coalesce(c.error, '')::text AS error, c.created_at, c.deadline, c.settled_at
FROM ops.commands c WHERE @agent::text = '' OR c.agent = @agent::text ORDER BY c.created_at DESC, c.command LIMIT @most;

-- name: ConsoleRealtime :many
SELECT r.region, r.replicas::bigint AS replicas, r.connected::bigint AS connected, r.suspended::bigint AS suspended, r.rooms::bigint AS rooms,
       r.members::bigint AS members, r.invitations::bigint AS invitations, r.waiting::bigint AS waiting
FROM ops.realtime r ORDER BY r.region LIMIT 100;

-- name: ConsoleLobbies :many
-- Returns a page of rooms of the realtime lobby in the order of region, project and id.
SELECT l.region, l.project, l.room, l.type, l.members, l.away::bigint AS away, l.invited::bigint AS invited, l.max_members, l.private, l.locked, l.match,
       coalesce(l.session, '')::text AS session, l.created_at, l.closes_at
FROM ops.lobbies l
WHERE (l.region, l.project, l.room) > (@after_region::text, @after_project::text, @after::text)
  AND (@project::text = '' OR l.project = @project::text) AND (@text::text = '' OR starts_with(l.room, @text::text) OR l.type = @text::text)
ORDER BY l.region, l.project, l.room LIMIT @most;
