-- Agents (connections of game servers to a replica), the rooms that they host, and the commands that are sent to them.
--
-- A game server is a process; each of its connections is an agent with an id of its own; a replica of the director holds the
-- connection. Region is the region of the fleet: its replicas act as one orchestrator. These tables hold the reports of game servers.
-- Instances, sessions and seats hold the promises to players, and no transaction on agents writes them.
--
-- Locks are taken in this order, which continues that of 00001, and within a table by primary key:
--   … instance_modes → replicas → agent_states → rooms → commands → inserts.
-- The lock of an agent's row in agent_states also protects its row in agents, its rooms and its commands: only transactions that hold
-- it change them. So transactions only wait for each other at agent_states, and when both insert a room with the same id.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- The processes of the director that hold connections of agents. A process takes a new id when it starts and after another process has ended
-- it. Each renews seen_at every second.
CREATE TABLE replicas (
    region       text NOT NULL,
    id           uuid NOT NULL,
    seen_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    steady_since timestamptz NOT NULL DEFAULT clock_timestamp(), -- since when it has renewed seen_at without a gap
    heard_since  timestamptz NOT NULL DEFAULT '-infinity',       -- the oldest last reply of its agents that have missed no poll
    ended_at     timestamptz,
    rows_until   timestamptz,                                    -- when its agents leave, unless they have joined elsewhere by then
    PRIMARY KEY (region, id),
    CONSTRAINT an_ended_replica_knows_how_long_its_agents_stay CHECK ((ended_at IS NULL) = (rows_until IS NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE replicas ALTER COLUMN region SET (n_distinct = 1);

-- The content that an agent reports: wide rows that rarely change. Text is stored as reported, within the limits of a snapshot.
CREATE TABLE agents (
    region           text NOT NULL,
    id               text COLLATE "C" NOT NULL,
    replica          uuid NOT NULL,
    process_uid      text NOT NULL,          -- of the process, which may be connected several times; may be empty
    name             text NOT NULL,
    endpoint         text NOT NULL,
    labels           jsonb NOT NULL DEFAULT '{}',
    room_types       text[] NOT NULL DEFAULT '{}',
    max_connections  integer,                -- null: unlimited; 0 is a limit
    max_rooms        integer,                -- null: unlimited; 0 is a limit
    auto_create      boolean NOT NULL,
    agent_version    text NOT NULL,
    protocol_version bigint NOT NULL,
    key              text NOT NULL,          -- fingerprint of the key it connected with
    key_id           uuid,                   -- of agent_keys; null: a key of the configuration
    joined_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, id),
    CONSTRAINT an_agent_id_is_16_hex_digits CHECK (id ~ '^[0-9a-f]{16}$'),
    CONSTRAINT what_an_agent_says_of_itself_is_short CHECK (char_length(process_uid) <= 256 AND char_length(agent_version) <= 256
        AND char_length(name) <= 64 AND char_length(endpoint) <= 512 AND cardinality(room_types) <= 256)
) WITH (fillfactor = 90);
ALTER TABLE agents ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX agents_of_process ON agents (region, process_uid, id);

-- The changing state of an agent: narrow rows. replica owns the connection and never changes. A transaction that writes for an agent requires
-- that the row names its own replica and that left_at is null; otherwise the agent no longer belongs to that replica.
CREATE TABLE agent_states (
    region      text NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    replica     uuid NOT NULL,
    status      text NOT NULL,               -- as last reported: any text
    override    text,                        -- of an acknowledged drain or undrain, until the next state reply
    kept        boolean NOT NULL DEFAULT false, -- its name and endpoint are in kept_drains
    misses      smallint NOT NULL DEFAULT 0, -- polls without a reply, in a row; from 2 on it is stale
    connections bigint NOT NULL DEFAULT 0,   -- of its rooms
    rooms       integer NOT NULL DEFAULT 0,  -- created and reported ones
    reserved    integer NOT NULL DEFAULT 0,  -- rooms whose create command was not acknowledged
    in_flight   integer NOT NULL DEFAULT 0,  -- pending commands
    owes_reply  boolean NOT NULL DEFAULT false, -- the next state reply decides about created rooms, and those of timed-out commands
    hash        text NOT NULL DEFAULT '',    -- of the snapshot last applied, as the agent computed it
    seq         bigint NOT NULL DEFAULT 0,
    synced_at   timestamptz NOT NULL DEFAULT clock_timestamp(), -- last written reply; without misses, see also replicas.heard_since
    doubted     boolean NOT NULL DEFAULT false, -- the process joined elsewhere: left for everybody, until its connection answers
    left_at     timestamptz,
    tx          xid8 NOT NULL DEFAULT pg_current_xact_id(), -- that last changed the agent or its rooms
    PRIMARY KEY (region, agent_id),
    CONSTRAINT rooms_and_connections_are_counted CHECK (rooms >= 0 AND reserved >= 0 AND connections >= 0),
    CONSTRAINT an_agent_has_at_most_32_commands_in_flight CHECK (in_flight BETWEEN 0 AND 32),
    CONSTRAINT an_agent_is_evicted_at_three_misses CHECK (misses BETWEEN 0 AND 3),
    CONSTRAINT an_override_is_active_or_draining CHECK (override IN ('active', 'draining')),
    CONSTRAINT a_status_and_a_hash_are_short CHECK (char_length(status) <= 256 AND char_length(hash) <= 256),
    CONSTRAINT an_agent_that_left_or_is_doubted_has_nothing CHECK (left_at IS NULL AND NOT doubted
        OR rooms = 0 AND reserved = 0 AND connections = 0 AND in_flight = 0)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE agent_states ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX agent_states_in_commit_order ON agent_states (region, tx);
CREATE INDEX agents_of_replica ON agent_states (region, replica) WHERE left_at IS NULL;
CREATE INDEX agents_that_left ON agent_states (left_at) WHERE left_at IS NOT NULL; -- region is not first: it would attract unrelated queries

-- Rooms of live agents. base is the game's own id, percent-encoded; the public id is the base unless another room of the fleet has it.
CREATE TABLE rooms (
    region      text NOT NULL,
    id          text COLLATE "C" NOT NULL,   -- public
    agent_id    text COLLATE "C" NOT NULL,
    base        text COLLATE "C" NOT NULL,
    type        text NOT NULL,
    connections integer NOT NULL DEFAULT 0,
    local       boolean NOT NULL DEFAULT false, -- made by the game's own code
    state       text NOT NULL,
    command     uuid,                        -- that reserved it
    PRIMARY KEY (region, id),
    CONSTRAINT an_agent_has_one_room_of_an_id UNIQUE (region, agent_id, base),
    CONSTRAINT a_room_is_reserved_then_created_then_reported CHECK (state IN ('reserved', 'created', 'reported')),
    CONSTRAINT a_room_that_is_not_reported_has_a_command CHECK (state = 'reported' OR command IS NOT NULL AND NOT local AND connections = 0),
    CONSTRAINT a_room_has_up_to_a_million_connections CHECK (connections BETWEEN 0 AND 1000000)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE rooms ALTER COLUMN region SET (n_distinct = 1);

-- Commands to agents. Any transaction that holds the agent's lock may insert one; the replica that holds the connection sends it once, and the
-- agent's ack settles it. A settled command is kept for one minute, a timed-out one for ten minutes.
CREATE TABLE commands (
    region     text NOT NULL,
    id         uuid NOT NULL,
    agent_id   text COLLATE "C" NOT NULL,
    replica    uuid NOT NULL,                -- holds the connection
    caller     uuid,                         -- the replica with the call that waits for the answer
    op         text NOT NULL,
    room       text COLLATE "C",             -- public id
    base       text COLLATE "C",             -- the game's id of the room, percent-encoded
    type       text,                         -- of the room to create
    actor      text NOT NULL DEFAULT 'director',
    state      text NOT NULL DEFAULT 'pending',
    error      text,                         -- as the agent says it
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline   timestamptz NOT NULL,
    settled_at timestamptz,
    tx         xid8 NOT NULL DEFAULT pg_current_xact_id(), -- that inserted or settled it
    PRIMARY KEY (region, id),
    CONSTRAINT a_command_is_create_destroy_drain_or_undrain CHECK (op IN ('create', 'destroy', 'drain', 'undrain')),
    CONSTRAINT a_command_about_a_room_names_it CHECK ((op IN ('create', 'destroy')) = (room IS NOT NULL AND base IS NOT NULL)),
    CONSTRAINT a_create_command_has_a_type CHECK (op <> 'create' OR type IS NOT NULL),
    CONSTRAINT a_command_is_settled_once CHECK (state IN ('pending', 'done', 'failed', 'exists', 'disconnected', 'timed_out', 'done_late')),
    CONSTRAINT a_settled_command_has_a_time CHECK ((state = 'pending') = (settled_at IS NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE commands ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX commands_to_send ON commands (region, replica, agent_id) WHERE state = 'pending';
CREATE INDEX commands_to_expire ON commands (deadline) WHERE settled_at IS NULL; -- not by state: it would attract lookups of pending commands
CREATE INDEX commands_to_forget ON commands (settled_at) WHERE settled_at IS NOT NULL;

-- Keys of agents, in addition to the configured keys. The secret itself is not stored.
CREATE TABLE agent_keys (
    region       text NOT NULL,
    id           uuid NOT NULL DEFAULT gen_random_uuid(),
    name         text COLLATE "C" NOT NULL,
    digest       bytea NOT NULL,
    bound_name   text,                       -- each snapshot must have this name; null: any
    bound_labels jsonb NOT NULL DEFAULT '{}', -- each snapshot must have these labels
    created_at   timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz,
    PRIMARY KEY (region, id),
    CONSTRAINT an_agent_key_is_made_once UNIQUE (region, digest),
    CONSTRAINT the_digest_of_an_agent_key_is_sha_256 CHECK (octet_length(digest) = 32),
    CONSTRAINT an_agent_key_has_a_short_name CHECK (name ~ '^[A-Za-z0-9._-]{1,64}$'),
    CONSTRAINT bound_labels_are_an_object CHECK (jsonb_typeof(bound_labels) = 'object')
);
CREATE UNIQUE INDEX a_name_is_of_one_agent_key ON agent_keys (region, name) WHERE revoked_at IS NULL;

-- Game servers that stay drained when their process restarts.
CREATE TABLE kept_drains (
    region   text NOT NULL,
    name     text NOT NULL,
    endpoint text NOT NULL,
    actor    text NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, name, endpoint)
);

-- The lease of a replica has expired if its last renewal is at or before the horizon: one lease before the newest renewal of a replica that has
-- been steady for a whole lease. Without such a replica, as after an outage, it is -infinity and no lease has expired. Call it as
-- (SELECT replica_horizon(region)).
-- +goose StatementBegin
CREATE FUNCTION replica_horizon(p_region text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(max(r.seen_at) - max(c.lease_ttl), '-infinity')
    FROM fleet_clock c JOIN replicas r ON r.region = p_region AND r.ended_at IS NULL
     AND r.seen_at > pg_postmaster_start_time() AND r.steady_since <= r.seen_at - c.lease_ttl
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION replica_horizon(text) IS 'Replicas of the region with a last renewal at or before it have ended; -infinity while no replica has been steady for a whole lease.';

-- The effective status of an agent: draining if its drain is kept, otherwise the status of an acked drain or undrain, otherwise the reported one.
-- +goose StatementBegin
CREATE FUNCTION agent_status(s agent_states) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN s.kept THEN 'draining' ELSE coalesce(s.override, s.status) END
$$;
-- +goose StatementEnd

-- The regions that have replicas, agents or commands. Each step finds the next region by an index.
-- +goose StatementBegin
CREATE FUNCTION agent_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    (WITH RECURSIVE r AS (
        (SELECT region FROM replicas ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM replicas n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM agent_states ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM agent_states n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM commands ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM commands n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION agent_regions() IS 'The regions that have replicas, agents or commands.';

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands']::regclass[]
$$;

-- As in 00017, and with agents, which are a feed as well.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION restored_from_dump() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    future xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    RETURN coalesce((SELECT e.tx FROM events e ORDER BY e.tx DESC, e.id DESC LIMIT 1) >= future, false)
        OR EXISTS (SELECT FROM ticket_regions() r(region) WHERE
            (SELECT s.tx FROM settled_tickets s WHERE s.region = r.region ORDER BY s.tx DESC LIMIT 1) >= future
            OR (SELECT t.tx FROM tickets t WHERE t.region = r.region AND t.tx IS NOT NULL ORDER BY t.tx DESC LIMIT 1) >= future
            OR (SELECT e.tx FROM ticket_events e WHERE e.region = r.region ORDER BY e.tx DESC LIMIT 1) >= future)
        OR EXISTS (SELECT FROM agent_regions() r(region) WHERE
            (SELECT a.tx FROM agent_states a WHERE a.region = r.region ORDER BY a.tx DESC LIMIT 1) >= future);
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE renew_restored_transactions() LANGUAGE plpgsql AS $$
DECLARE
    base bigint;
    feed text;
BEGIN
    PERFORM pg_advisory_lock(hashtext('director.restored')); -- the session's, so that it outlasts COMMIT
    IF restored_from_dump() THEN
        base := pg_current_xact_id()::text::bigint;
        FOREACH feed IN ARRAY ARRAY['events', 'settled_tickets', 'tickets', 'ticket_events', 'agent_states'] LOOP
            EXECUTE format($q$
                WITH old AS (
                    SELECT d.tx, row_number() OVER (ORDER BY d.tx) AS n
                    FROM (SELECT DISTINCT e.tx FROM %1$I e WHERE e.tx >= pg_snapshot_xmax(pg_current_snapshot())) d
                )
                UPDATE %1$I e SET tx = ($1 + o.n)::text::xid8 FROM old o WHERE e.tx = o.tx $q$, feed) USING base;
        END LOOP;
        COMMIT;
        WHILE restored_from_dump() LOOP
            FOR i IN 1..1000 LOOP
                PERFORM pg_current_xact_id();
                COMMIT;
            END LOOP;
        END LOOP;
    END IF;
    PERFORM pg_advisory_unlock(hashtext('director.restored'));
END
$$;
-- +goose StatementEnd

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION restored_from_dump() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    future xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    RETURN coalesce((SELECT e.tx FROM events e ORDER BY e.tx DESC, e.id DESC LIMIT 1) >= future, false)
        OR EXISTS (SELECT FROM ticket_regions() r(region) WHERE
            (SELECT s.tx FROM settled_tickets s WHERE s.region = r.region ORDER BY s.tx DESC LIMIT 1) >= future
            OR (SELECT t.tx FROM tickets t WHERE t.region = r.region AND t.tx IS NOT NULL ORDER BY t.tx DESC LIMIT 1) >= future
            OR (SELECT e.tx FROM ticket_events e WHERE e.region = r.region ORDER BY e.tx DESC LIMIT 1) >= future);
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE renew_restored_transactions() LANGUAGE plpgsql AS $$
DECLARE
    base bigint;
    feed text;
BEGIN
    PERFORM pg_advisory_lock(hashtext('director.restored')); -- the session's, so that it outlasts COMMIT
    IF restored_from_dump() THEN
        base := pg_current_xact_id()::text::bigint;
        FOREACH feed IN ARRAY ARRAY['events', 'settled_tickets', 'tickets', 'ticket_events'] LOOP
            EXECUTE format($q$
                WITH old AS (
                    SELECT d.tx, row_number() OVER (ORDER BY d.tx) AS n
                    FROM (SELECT DISTINCT e.tx FROM %1$I e WHERE e.tx >= pg_snapshot_xmax(pg_current_snapshot())) d
                )
                UPDATE %1$I e SET tx = ($1 + o.n)::text::xid8 FROM old o WHERE e.tx = o.tx $q$, feed) USING base;
        END LOOP;
        COMMIT;
        WHILE restored_from_dump() LOOP
            FOR i IN 1..1000 LOOP
                PERFORM pg_current_xact_id();
                COMMIT;
            END LOOP;
        END LOOP;
    END IF;
    PERFORM pg_advisory_unlock(hashtext('director.restored'));
END
$$;
-- +goose StatementEnd
CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand']::regclass[]
$$;
DROP FUNCTION agent_regions, agent_status, replica_horizon;
DROP TABLE kept_drains, agent_keys, commands, rooms, agent_states, agents, replicas;
