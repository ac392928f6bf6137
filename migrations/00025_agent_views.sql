-- Views of agents, rooms and commands for operators, and functions that keep a game server drained.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Drains the game servers with a name and endpoint, including those that join later, or ends that drain. Inserts a command for each connected
-- agent, unless one is pending or the agent already has that status. Returns whether it changed anything, and the replicas that must send
-- the commands.
-- +goose StatementBegin
CREATE FUNCTION keep_drain(p_region text, p_name text, p_endpoint text, p_actor text, p_keep boolean)
RETURNS TABLE (changed boolean, replicas uuid[]) LANGUAGE plpgsql AS $$
DECLARE
    ids text[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('director.kept_drains.' || p_region));
    IF p_keep THEN
        INSERT INTO kept_drains (region, name, endpoint, actor) VALUES (p_region, p_name, p_endpoint, p_actor) ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM kept_drains k WHERE k.region = p_region AND k.name = p_name AND k.endpoint = p_endpoint;
    END IF;
    changed := FOUND;
    IF changed THEN
        INSERT INTO events (region, kind, actor, detail) VALUES (p_region, CASE WHEN p_keep THEN 'drain.kept' ELSE 'drain.ended' END, p_actor,
            jsonb_build_object('name', p_name, 'endpointUrl', p_endpoint));
    END IF;
    ids := ARRAY(SELECT a.id FROM agents a WHERE a.region = p_region AND a.name = p_name AND a.endpoint = p_endpoint);
    PERFORM 1 FROM agent_states s WHERE s.region = p_region AND s.agent_id = ANY (ids) ORDER BY s.agent_id FOR NO KEY UPDATE;
    WITH turned AS (
        SELECT s.agent_id, s.replica, (s.in_flight = 0 AND NOT s.doubted AND (coalesce(s.override, s.status) = 'draining') <> p_keep) AS told
        FROM agent_states s WHERE s.region = p_region AND s.agent_id = ANY (ids) AND s.left_at IS NULL AND s.kept <> p_keep
    ), marked AS (
        UPDATE agent_states s SET kept = p_keep, in_flight = s.in_flight + t.told::int, tx = pg_current_xact_id()
        FROM turned t WHERE s.region = p_region AND s.agent_id = t.agent_id
    ), sent AS (
        INSERT INTO commands (region, id, agent_id, replica, op, actor, deadline)
        SELECT p_region, gen_random_uuid(), t.agent_id, t.replica, CASE WHEN p_keep THEN 'drain' ELSE 'undrain' END, p_actor,
               clock_timestamp() + interval '10 seconds'
        FROM turned t WHERE t.told
    )
    SELECT coalesce(array_agg(DISTINCT t.replica), '{}') INTO replicas FROM turned t;
    changed := changed OR cardinality(replicas) > 0;
    RETURN NEXT;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION ops.set_agent_draining(agent text, keep boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    found_agent record;
BEGIN
    SELECT a.region, a.name, a.endpoint INTO found_agent
    FROM agent_regions() r(region) JOIN agents a ON a.region = r.region AND a.id = agent LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no agent %', coalesce(quote_literal(agent), 'NULL') USING ERRCODE = 'no_data_found';
    END IF;
    RETURN (SELECT k.changed FROM keep_drain(found_agent.region, found_agent.name, found_agent.endpoint, 'sql:' || session_user, keep) k);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.set_agent_draining(text, boolean) IS 'The common part of ops.drain_agent and ops.undrain_agent.';

CREATE FUNCTION ops.drain_agent(agent text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS 'SELECT ops.set_agent_draining(agent, true)';
COMMENT ON FUNCTION ops.drain_agent(text) IS 'Keeps the game server of an agent drained, also after it restarts: it gets no new rooms, and its rooms stay. It is identified by name and endpoint. Returns whether this changed anything.';

CREATE FUNCTION ops.undrain_agent(agent text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    AS 'SELECT ops.set_agent_draining(agent, false)';
COMMENT ON FUNCTION ops.undrain_agent(text) IS 'Ends a drain of ops.drain_agent: the game server gets new rooms again. Returns whether this changed anything.';

REVOKE EXECUTE ON FUNCTION ops.set_agent_draining, ops.drain_agent, ops.undrain_agent FROM PUBLIC;

-- +goose StatementBegin
CREATE FUNCTION ops.replica_horizon(region text) RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$ SELECT replica_horizon(region) $$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.replica_horizon(text) IS 'The lease of a replica has expired if its last renewal is at or before this time; -infinity while no replica of the region has been steady for a lease.';

CREATE VIEW ops.replicas AS
SELECT r.region, r.id AS replica,
       CASE WHEN r.ended_at IS NOT NULL THEN 'ended' WHEN r.seen_at <= ops.replica_horizon(r.region) THEN 'expired' ELSE 'live' END AS state,
       count(s.agent_id) AS agents, r.seen_at, statement_timestamp() - r.seen_at AS lease_age, r.steady_since, r.ended_at
FROM replicas r LEFT JOIN agent_states s ON s.region = r.region AND s.replica = r.id AND s.left_at IS NULL
GROUP BY r.region, r.id;
COMMENT ON VIEW ops.replicas IS 'The processes of the director that hold connections of agents, and those that ended in the last ten minutes.';
COMMENT ON COLUMN ops.replicas.region IS 'The region of the fleet.';
COMMENT ON COLUMN ops.replicas.replica IS 'Its id, new at each start.';
COMMENT ON COLUMN ops.replicas.state IS 'live; expired: its lease has expired, and its agents leave soon; ended.';
COMMENT ON COLUMN ops.replicas.agents IS 'Agents that are connected to it; for an ended replica, agents that have not joined elsewhere yet.';
COMMENT ON COLUMN ops.replicas.seen_at IS 'When it last renewed its lease, which it does every second.';
COMMENT ON COLUMN ops.replicas.lease_age IS 'The time since seen_at.';
COMMENT ON COLUMN ops.replicas.steady_since IS 'Since when it has renewed its lease without a gap. Leases expire only while some replica has been steady for a whole lease.';
COMMENT ON COLUMN ops.replicas.ended_at IS 'When it ended.';

CREATE VIEW ops.agents AS
SELECT s.region, s.agent_id AS agent, a.name, a.process_uid AS process, a.endpoint,
       CASE WHEN s.doubted THEN 'doubted' WHEN r.id IS NULL OR r.ended_at IS NOT NULL OR r.seen_at <= h.horizon THEN 'cut off'
            WHEN s.misses >= 2 THEN 'stale' ELSE 'connected' END AS state,
       agent_status(s) AS status, s.kept AS drain_kept, s.rooms, s.reserved AS reserved_rooms, a.max_rooms, s.connections, a.max_connections,
       s.in_flight AS commands_in_flight, a.auto_create, a.room_types, a.labels, a.agent_version AS version, a.key,
       s.replica, a.joined_at, greatest(s.synced_at, CASE WHEN s.misses = 0 THEN r.heard_since END) AS last_reply
FROM agent_states s
JOIN agents a ON a.region = s.region AND a.id = s.agent_id
LEFT JOIN replicas r ON r.region = s.region AND r.id = s.replica
LEFT JOIN (SELECT g.region, ops.replica_horizon(g.region) AS horizon FROM (SELECT DISTINCT region FROM replicas) g) h ON h.region = s.region
WHERE s.left_at IS NULL;
COMMENT ON VIEW ops.agents IS 'Game servers that are connected with a FleetAgent. One that is connected twice has two rows.';
COMMENT ON COLUMN ops.agents.region IS 'The region of the fleet.';
COMMENT ON COLUMN ops.agents.agent IS 'The id of its connection, the argument of ops.drain_agent and ops.undrain_agent.';
COMMENT ON COLUMN ops.agents.name IS 'The name that it reports; may be empty.';
COMMENT ON COLUMN ops.agents.process IS 'The id of its process, the same for all of its connections.';
COMMENT ON COLUMN ops.agents.endpoint IS 'Where players connect.';
COMMENT ON COLUMN ops.agents.state IS 'connected; stale: it did not answer two polls; cut off: the replica with its connection has ended; doubted: its process has connected to another replica, and the older connection has not answered since then. Only agents in the state connected get rooms.';
COMMENT ON COLUMN ops.agents.status IS 'active, draining, or another text that the game server reports.';
COMMENT ON COLUMN ops.agents.drain_kept IS 'Whether it stays drained when it restarts.';
COMMENT ON COLUMN ops.agents.rooms IS 'Rooms that it has.';
COMMENT ON COLUMN ops.agents.reserved_rooms IS 'Rooms whose create command it has not acknowledged.';
COMMENT ON COLUMN ops.agents.max_rooms IS 'The maximum number of its rooms; NULL: unlimited.';
COMMENT ON COLUMN ops.agents.connections IS 'Players that are connected to its rooms.';
COMMENT ON COLUMN ops.agents.max_connections IS 'The maximum number of its players; NULL: unlimited.';
COMMENT ON COLUMN ops.agents.commands_in_flight IS 'Commands that it has not acknowledged; at most 32.';
COMMENT ON COLUMN ops.agents.auto_create IS 'Whether it creates rooms on request.';
COMMENT ON COLUMN ops.agents.room_types IS 'The types of rooms that it can create.';
COMMENT ON COLUMN ops.agents.labels IS 'The labels that it reports.';
COMMENT ON COLUMN ops.agents.version IS 'The version of its FleetAgent.';
COMMENT ON COLUMN ops.agents.key IS 'The fingerprint of the key that it connected with.';
COMMENT ON COLUMN ops.agents.replica IS 'The replica with its connection.';
COMMENT ON COLUMN ops.agents.joined_at IS 'When it joined.';
COMMENT ON COLUMN ops.agents.last_reply IS 'It answered a poll at this time or later.';

CREATE VIEW ops.rooms AS
SELECT r.region, r.id AS room, r.agent_id AS agent, a.name AS agent_name, r.type, r.connections, r.local, r.state, a.endpoint
FROM rooms r JOIN agents a ON a.region = r.region AND a.id = r.agent_id;
COMMENT ON VIEW ops.rooms IS 'Rooms of connected game servers.';
COMMENT ON COLUMN ops.rooms.region IS 'The region of the fleet.';
COMMENT ON COLUMN ops.rooms.room IS 'Its public id.';
COMMENT ON COLUMN ops.rooms.agent IS 'The agent that hosts it.';
COMMENT ON COLUMN ops.rooms.agent_name IS 'The name that the agent reports.';
COMMENT ON COLUMN ops.rooms.type IS 'Its type.';
COMMENT ON COLUMN ops.rooms.connections IS 'Players that are connected to it.';
COMMENT ON COLUMN ops.rooms.local IS 'Whether the game''s own code created it.';
COMMENT ON COLUMN ops.rooms.state IS 'reserved: the agent has not acknowledged the create command; created: it has acknowledged it; reported: a state reply contained the room.';
COMMENT ON COLUMN ops.rooms.endpoint IS 'Where its players connect.';

CREATE VIEW ops.commands AS
SELECT c.region, c.id AS command, c.op, c.state, c.agent_id AS agent, a.name AS agent_name, c.room, c.type, c.actor, c.error,
       c.created_at, c.deadline, c.settled_at, c.settled_at - c.created_at AS took, c.replica, c.caller
FROM commands c LEFT JOIN agents a ON a.region = c.region AND a.id = c.agent_id;
COMMENT ON VIEW ops.commands IS 'Commands to game servers: pending ones, those settled in the last minute, and those that timed out in the last ten minutes.';
COMMENT ON COLUMN ops.commands.region IS 'The region of the fleet.';
COMMENT ON COLUMN ops.commands.command IS 'Its id.';
COMMENT ON COLUMN ops.commands.op IS 'create, destroy, drain or undrain.';
COMMENT ON COLUMN ops.commands.state IS 'pending, done, failed (the agent refused), exists (it has a room of that id), disconnected, timed_out, or done_late (after the time-out).';
COMMENT ON COLUMN ops.commands.agent IS 'The agent.';
COMMENT ON COLUMN ops.commands.agent_name IS 'The name that the agent reports; NULL once the agent is deleted.';
COMMENT ON COLUMN ops.commands.room IS 'The public id of the room; NULL for drain and undrain.';
COMMENT ON COLUMN ops.commands.type IS 'The type of a room to create.';
COMMENT ON COLUMN ops.commands.actor IS 'The fingerprint of the key of the call, director, or sql: and the login of an operator.';
COMMENT ON COLUMN ops.commands.error IS 'The error text of the agent that refused.';
COMMENT ON COLUMN ops.commands.created_at IS 'When it was inserted.';
COMMENT ON COLUMN ops.commands.deadline IS 'When it times out.';
COMMENT ON COLUMN ops.commands.settled_at IS 'When it was acknowledged, timed out or was disconnected; NULL: it is pending.';
COMMENT ON COLUMN ops.commands.took IS 'The time from created_at to settled_at.';
COMMENT ON COLUMN ops.commands.replica IS 'The replica with the agent''s connection.';
COMMENT ON COLUMN ops.commands.caller IS 'The replica whose call waits for the answer; NULL: none.';

CREATE VIEW ops.invariant_agent_count_drift AS
SELECT s.region, s.agent_id AS agent, s.rooms AS counted_rooms, coalesce(r.rooms, 0) AS rooms, s.reserved AS counted_reserved,
       coalesce(r.reserved, 0) AS reserved, s.connections AS counted_connections, coalesce(r.connections, 0) AS connections,
       s.in_flight AS counted_in_flight, coalesce(c.pending, 0) AS in_flight
FROM agent_states s
LEFT JOIN (SELECT region, agent_id, count(*) FILTER (WHERE state <> 'reserved') AS rooms, count(*) FILTER (WHERE state = 'reserved') AS reserved,
                  sum(connections) AS connections FROM rooms GROUP BY 1, 2) r ON r.region = s.region AND r.agent_id = s.agent_id
LEFT JOIN (SELECT region, agent_id, count(*) AS pending FROM commands WHERE state = 'pending' GROUP BY 1, 2) c
    ON c.region = s.region AND c.agent_id = s.agent_id
WHERE (s.rooms, s.reserved, s.connections, s.in_flight)
    <> (coalesce(r.rooms, 0), coalesce(r.reserved, 0), coalesce(r.connections, 0), coalesce(c.pending, 0));
COMMENT ON VIEW ops.invariant_agent_count_drift IS 'Agents whose counters of rooms, connections or commands differ from their rows.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.region IS 'The region of the fleet.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.agent IS 'The agent.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.counted_rooms IS 'Its counter of rooms.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.rooms IS 'The rooms that it has.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.counted_reserved IS 'Its counter of reserved rooms.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.reserved IS 'The reserved rooms that it has.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.counted_connections IS 'Its counter of connections.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.connections IS 'The sum of the connections of its rooms.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.counted_in_flight IS 'Its counter of pending commands.';
COMMENT ON COLUMN ops.invariant_agent_count_drift.in_flight IS 'The pending commands that it has.';

CREATE VIEW ops.invariant_room_without_agent AS
SELECT r.region, r.id AS room, r.agent_id AS agent, 'its agent is gone' AS reason FROM rooms r
WHERE NOT EXISTS (SELECT FROM agent_states s WHERE s.region = r.region AND s.agent_id = r.agent_id AND s.left_at IS NULL AND NOT s.doubted)
UNION ALL
SELECT r.region, r.id, r.agent_id, 'no command will decide about it' FROM rooms r
JOIN agent_states s ON s.region = r.region AND s.agent_id = r.agent_id AND NOT s.owes_reply
WHERE r.state = 'created' OR r.state = 'reserved' AND NOT EXISTS (
    SELECT FROM commands c WHERE c.region = r.region AND c.id = r.command AND c.state = 'pending');
COMMENT ON VIEW ops.invariant_room_without_agent IS 'Rooms whose agent has left, and rooms that a command reserved or created and that no command or reply will settle.';
COMMENT ON COLUMN ops.invariant_room_without_agent.region IS 'The region of the fleet.';
COMMENT ON COLUMN ops.invariant_room_without_agent.room IS 'The public id of the room.';
COMMENT ON COLUMN ops.invariant_room_without_agent.agent IS 'The agent that the row names as its host.';
COMMENT ON COLUMN ops.invariant_room_without_agent.reason IS 'What is wrong.';

CREATE VIEW ops.invariant_command_never_settled AS
SELECT c.region, c.id AS command, c.op, c.agent_id AS agent, c.deadline
FROM commands c CROSS JOIN fleet_clock f
WHERE c.state = 'pending' AND c.deadline < statement_timestamp() - f.lease_ttl - interval '1 minute';
COMMENT ON VIEW ops.invariant_command_never_settled IS 'Commands that are pending although their deadline, a lease and a minute have passed: no worker runs, or there is a bug.';
COMMENT ON COLUMN ops.invariant_command_never_settled.region IS 'The region of the fleet.';
COMMENT ON COLUMN ops.invariant_command_never_settled.command IS 'Its id.';
COMMENT ON COLUMN ops.invariant_command_never_settled.op IS 'create, destroy, drain or undrain.';
COMMENT ON COLUMN ops.invariant_command_never_settled.agent IS 'The agent.';
COMMENT ON COLUMN ops.invariant_command_never_settled.deadline IS 'When it should have timed out.';

CREATE OR REPLACE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key
UNION ALL SELECT 'ticket in two places', count(*) FROM ops.invariant_ticket_in_two_places
UNION ALL SELECT 'ticket in two matches', count(*) FROM ops.invariant_ticket_in_two_matches
UNION ALL SELECT 'assigned without seat', count(*) FROM ops.invariant_assigned_without_seat
UNION ALL SELECT 'seat without match', count(*) FROM ops.invariant_seat_without_match
UNION ALL SELECT 'matched never assigned', count(*) FROM ops.invariant_matched_never_assigned
UNION ALL SELECT 'player waiting twice', count(*) FROM ops.invariant_player_waiting_twice
UNION ALL SELECT 'agent count drift', count(*) FROM ops.invariant_agent_count_drift
UNION ALL SELECT 'room without agent', count(*) FROM ops.invariant_room_without_agent
UNION ALL SELECT 'command never settled', count(*) FROM ops.invariant_command_never_settled;

COMMENT ON COLUMN ops.worker_loops.loop IS 'The loop: reap, rotate, prune, agents, queue, analyze, vacuum or history.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
CREATE OR REPLACE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key
UNION ALL SELECT 'ticket in two places', count(*) FROM ops.invariant_ticket_in_two_places
UNION ALL SELECT 'ticket in two matches', count(*) FROM ops.invariant_ticket_in_two_matches
UNION ALL SELECT 'assigned without seat', count(*) FROM ops.invariant_assigned_without_seat
UNION ALL SELECT 'seat without match', count(*) FROM ops.invariant_seat_without_match
UNION ALL SELECT 'matched never assigned', count(*) FROM ops.invariant_matched_never_assigned
UNION ALL SELECT 'player waiting twice', count(*) FROM ops.invariant_player_waiting_twice;
COMMENT ON COLUMN ops.worker_loops.loop IS 'The loop: reap, rotate, prune, queue, analyze, vacuum or history.';
DROP VIEW ops.invariant_command_never_settled, ops.invariant_room_without_agent, ops.invariant_agent_count_drift, ops.commands, ops.rooms,
    ops.agents, ops.replicas;
DROP FUNCTION ops.drain_agent, ops.undrain_agent, ops.set_agent_draining, ops.replica_horizon, keep_drain;
