-- +goose Up

-- The realtime lobby: projects and their keys, sessions of clients, rooms with members, and a log of what their members are sent.
-- A project's region is chosen when the project is made and is that of all its rows. Lock order: realtime_sessions, lobbies,
-- lobby_members, and then that of 00017, with realtime_tickets and lobby_outcomes after tickets; by key within a table.

-- Two faces have replicas with leases. An agent can move only to a replica of the orchestrator.
ALTER TABLE replicas ADD COLUMN face text NOT NULL DEFAULT 'orchestrator';
ALTER TABLE replicas ADD CONSTRAINT a_replica_is_of_a_face_that_has_connections CHECK (face IN ('orchestrator', 'realtime'));

-- Each face has a horizon of its own: replicas of one face cannot take over connections of the other, so that they are no evidence that clients
-- of a silent replica could have come back. The function with one argument is that of the orchestrator, for older processes as well.
-- +goose StatementBegin
CREATE FUNCTION replica_horizon(p_region text, p_face text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(max(r.seen_at) - max(c.lease_ttl), '-infinity')
    FROM fleet_clock c JOIN replicas r ON r.region = p_region AND r.face = p_face AND r.ended_at IS NULL
     AND r.seen_at > pg_postmaster_start_time() AND r.steady_since <= r.seen_at - c.lease_ttl
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION replica_horizon(text, text) IS 'Replicas of the region and face with a last renewal at or before it have ended; -infinity while no replica has been steady for a whole lease.';
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION replica_horizon(p_region text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT replica_horizon(p_region, 'orchestrator')
$$;
-- +goose StatementEnd

CREATE TABLE projects (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    region     text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT a_project_id_has_up_to_128_characters CHECK (char_length(id) BETWEEN 1 AND 128),
    CONSTRAINT a_project_has_a_short_name CHECK (char_length(name) BETWEEN 1 AND 200)
);
CREATE INDEX projects_by_time ON projects (created_at, id);

-- Keys of projects, which mint and sign the tokens of clients. Two rotations of a key at the same time make one new key.
CREATE TABLE project_keys (
    project       text COLLATE "C" NOT NULL REFERENCES projects,
    id            text COLLATE "C" NOT NULL,
    name          text NOT NULL,
    scopes        text[] NOT NULL,
    sealed_secret bytea NOT NULL,
    sealed_by     text NOT NULL, -- fingerprint of the key-encryption key
    rotated_from  text COLLATE "C",
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at    timestamptz,
    retires_at    timestamptz,
    tokens_minted bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (project, id),
    CONSTRAINT a_revoked_key_retires CHECK ((revoked_at IS NULL) = (retires_at IS NULL)),
    CONSTRAINT a_key_of_a_project_has_a_short_id CHECK (char_length(id) BETWEEN 1 AND 128),
    CONSTRAINT a_key_of_a_project_has_a_short_name CHECK (char_length(name) BETWEEN 1 AND 200),
    CONSTRAINT a_key_has_up_to_16_scopes CHECK (cardinality(scopes) <= 16)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX a_key_is_rotated_once ON project_keys (project, rotated_from) WHERE rotated_from IS NOT NULL;
COMMENT ON TABLE projects IS 'A project of the realtime lobby: rooms, sessions and keys belong to one. Its region is that of all its rows and never changes.';
COMMENT ON TABLE project_keys IS 'A key of a project, for which tokens of clients are minted.';
COMMENT ON COLUMN project_keys.sealed_secret IS 'token.ProjectSecrets opens it';
COMMENT ON COLUMN project_keys.rotated_from IS 'the key that it replaced; nil: none';
COMMENT ON COLUMN project_keys.revoked_at IS 'since then it mints no tokens; nil: it does';
COMMENT ON COLUMN project_keys.retires_at IS 'from then on its tokens are refused; nil unless it is revoked';

-- A client of the realtime lobby, over all its sockets. The owner is the replica with its socket, null while it has none. Each attach
-- of a socket increments the epoch, and a write with an older epoch changes nothing.
CREATE TABLE realtime_sessions (
    region          text NOT NULL,
    id              text COLLATE "C" NOT NULL,
    project         text COLLATE "C" NOT NULL,
    player          text COLLATE "C" NOT NULL, -- the token's sub; without it the session's id
    authenticated   boolean NOT NULL,
    key_id          text COLLATE "C",          -- that its token names
    token_digest    bytea,                     -- SHA-256; null for an anonymous client
    token_expires   timestamptz,
    ttl             interval NOT NULL,         -- for which it can be resumed
    owner           uuid,
    epoch           bigint NOT NULL DEFAULT 1,
    suspended_at    timestamptz,
    expires_at      timestamptz,               -- suspended_at and ttl; after an outage later: see realtime_steady_since()
    announced       boolean NOT NULL DEFAULT true, -- its rooms know that it is suspended
    takeovers       integer NOT NULL DEFAULT 0,    -- of a live session, since takeovers_since
    takeovers_since timestamptz,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, id),
    CONSTRAINT a_session_has_an_owner_or_is_suspended CHECK ((owner IS NULL) = (suspended_at IS NOT NULL)),
    CONSTRAINT a_suspended_session_expires CHECK ((suspended_at IS NULL) = (expires_at IS NULL)),
    CONSTRAINT only_a_suspension_is_announced_later CHECK (announced OR suspended_at IS NOT NULL)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE realtime_sessions ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX realtime_sessions_by_owner ON realtime_sessions (region, owner, id) WHERE owner IS NOT NULL;
CREATE INDEX realtime_sessions_to_end ON realtime_sessions (region, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX realtime_sessions_to_announce ON realtime_sessions (region, suspended_at) WHERE NOT announced;
CREATE INDEX realtime_sessions_by_player ON realtime_sessions (region, project, player);

-- The oldest replica that is live now has been steady since then; infinity while none is live. Sessions can be resumed only then, so that the
-- TTL of a suspended session counts from this time or from its suspension, whichever is later: after an outage it begins anew.
-- +goose StatementBegin
CREATE FUNCTION realtime_steady_since(p_region text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(min(r.steady_since), 'infinity')
    FROM fleet_clock c JOIN replicas r ON r.region = p_region AND r.face = 'realtime' AND r.ended_at IS NULL
     AND r.seen_at > pg_postmaster_start_time() AND r.seen_at > clock_timestamp() - c.lease_ttl / 3
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION realtime_steady_since(text) IS 'Since when clients could resume their sessions: the oldest live replica of the realtime lobby has been steady since then; infinity: none is live.';

-- The regions that have sessions or replicas of the realtime lobby. Each step finds the next region by an index.
-- +goose StatementBegin
CREATE FUNCTION realtime_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT region FROM replicas WHERE face = 'realtime'
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM realtime_sessions ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM realtime_sessions n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION realtime_regions() IS 'The regions that have sessions or replicas of the realtime lobby.';

-- Rooms of the realtime lobby. Nothing that changes often is indexed.
CREATE TABLE lobbies (
    region         text NOT NULL,
    uid            uuid NOT NULL,
    project        text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    type           text COLLATE "C" NOT NULL,
    pos            bigint NOT NULL DEFAULT 0,  -- of the last row in lobby_log
    seq            bigint NOT NULL DEFAULT 1,  -- of the state
    state          json NOT NULL,              -- an object; jsonb would refuse U+0000 and rewrite numbers
    members        integer NOT NULL DEFAULT 0, -- that joined
    joins          bigint NOT NULL DEFAULT 0,  -- so far: the order of the last member
    max_members    integer NOT NULL,
    private        boolean NOT NULL DEFAULT false,
    locked         boolean NOT NULL DEFAULT false,
    grace          interval NOT NULL,          -- that it stays without members
    closes_at      timestamptz,                -- null: it has members or invitations
    match_id       uuid,                       -- of the match that made it
    participants   text[] COLLATE "C",         -- sessions of that match, in the order of the queue
    size           integer,                    -- of that match, as it was asked for
    game_region    text,                       -- of the director's session in which they play
    session_id     uuid,
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, uid),
    CONSTRAINT a_room_id_names_one_room UNIQUE (region, project, id),
    CONSTRAINT a_room_state_has_up_to_64_kib CHECK (octet_length(state::text) <= 65536),
    CONSTRAINT a_room_has_up_to_its_members CHECK (members BETWEEN 0 AND max_members),
    CONSTRAINT a_room_with_participants_has_a_match CHECK ((match_id IS NULL) = (participants IS NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE lobbies ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX lobbies_to_close ON lobbies (region, closes_at) WHERE closes_at IS NOT NULL;
CREATE INDEX lobbies_that_play ON lobbies (game_region, session_id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX a_match_has_one_room_in_a_project ON lobbies (region, match_id, project) WHERE match_id IS NOT NULL;

CREATE TABLE lobby_members (
    region     text NOT NULL,
    lobby      uuid NOT NULL,
    session    text COLLATE "C" NOT NULL,
    player     text COLLATE "C" NOT NULL,
    state      text NOT NULL,
    join_order bigint,                        -- null while invited
    away       boolean NOT NULL DEFAULT false,
    expires_at timestamptz,                   -- of an invitation
    invited_by text COLLATE "C",              -- the session that invited; null: a match did
    PRIMARY KEY (region, lobby, session),
    CONSTRAINT a_member_is_invited_or_joined CHECK (state IN ('invited', 'joined')),
    CONSTRAINT a_member_that_joined_has_an_order CHECK ((state = 'joined') = (join_order IS NOT NULL)),
    CONSTRAINT an_invitation_expires CHECK ((state = 'invited') = (expires_at IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE lobby_members ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX lobby_members_by_session ON lobby_members (region, session);
CREATE INDEX lobby_invitations_by_expiry ON lobby_members (region, expires_at) WHERE expires_at IS NOT NULL;

-- What the members of a room are sent: one row for a room and transaction. Positions are given under the lock of the room, so they have
-- no gaps and their order is that of commits. It is only for delivery: the state is in lobbies, and a crash of Postgres may empty the log.
CREATE UNLOGGED TABLE lobby_log (
    region  text NOT NULL,
    lobby   uuid NOT NULL,
    pos     bigint NOT NULL,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    body    text NOT NULL,                    -- JSON: the patch, the seq after it, and the entries
    PRIMARY KEY (region, lobby, pos)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE lobby_log ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX lobby_log_by_time ON lobby_log (region, at);

-- lobby_regions returns the regions with rooms or rows of their logs, each found by one step in an index.
CREATE FUNCTION lobby_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    (WITH RECURSIVE r AS (
        (SELECT region FROM lobbies ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM lobbies n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM lobby_log ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM lobby_log n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
$$;

-- The sessions that wait with a ticket: a row for each, so that a session waits once. The rows of a ticket are written with the ticket,
-- deleted under its lock, and never changed in between. A ticket may leave the queue without them (it expires, or a director of Open Match
-- assigns it): a worker then deletes them.
CREATE TABLE realtime_tickets (
    region        text NOT NULL,               -- of the session
    session       text COLLATE "C" NOT NULL,
    ticket_region text NOT NULL,
    ticket        text COLLATE "C" NOT NULL,
    place         integer NOT NULL,            -- among the sessions of the ticket, from 1
    project       text COLLATE "C" NOT NULL,
    player        text COLLATE "C" NOT NULL,   -- of the session
    sub           text COLLATE "C" NOT NULL,   -- the player of the ticket: the session or its player
    room_type     text COLLATE "C" NOT NULL,
    size          integer NOT NULL,            -- of the match, as it was asked for
    lobby         uuid,                        -- whose members queued together; null: the session queued alone
    queued_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, session),
    CONSTRAINT a_session_waits_for_a_match_of_2_to_16 CHECK (size BETWEEN 2 AND 16)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE realtime_tickets ALTER COLUMN region SET (n_distinct = 1);
ALTER TABLE realtime_tickets ALTER COLUMN ticket_region SET (n_distinct = 1);
CREATE INDEX realtime_tickets_by_ticket ON realtime_tickets (ticket_region, ticket);
CREATE INDEX realtime_tickets_in_a_bucket ON realtime_tickets (region, project, room_type, size, queued_at);
CREATE INDEX realtime_tickets_of_a_room ON realtime_tickets (region, lobby) WHERE lobby IS NOT NULL;

-- The sessions whose ticket left the queue without a match, although they did not ask for it. A connection of the session is sent this event, also
-- one that resumes it on another replica. The row stays until the session queues again, or for five minutes.
CREATE TABLE realtime_expired (
    region    text NOT NULL,
    session   text COLLATE "C" NOT NULL,
    ticket    text COLLATE "C" NOT NULL,
    room_type text COLLATE "C" NOT NULL,
    size      integer NOT NULL,
    reason    text NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, session)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE realtime_expired ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX realtime_expired_by_time ON realtime_expired (region, at);

-- What became of the tickets with which rooms queued, until a worker has told the room.
CREATE TABLE lobby_outcomes (
    region   text NOT NULL,                    -- of the room
    lobby    uuid NOT NULL,
    ticket   text COLLATE "C" NOT NULL,
    match_id uuid,
    room     text COLLATE "C",                 -- of the match
    reason   text,                             -- why the ticket left the queue without a match
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, lobby, ticket),
    CONSTRAINT an_outcome_is_a_match_or_a_reason CHECK ((match_id IS NULL) = (room IS NULL) AND (match_id IS NULL) = (reason IS NOT NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE lobby_outcomes ALTER COLUMN region SET (n_distinct = 1);

-- As in 00026, with the keys of projects.
CREATE OR REPLACE VIEW ops.key_encryption_keys AS
SELECT k.fingerprint, sum(k.signing_keys)::bigint AS signing_keys, sum(k.netcode_keys)::bigint AS netcode_keys, sum(k.credentials)::bigint AS credentials,
       sum(k.project_keys)::bigint AS project_keys
FROM (SELECT sealed_by AS fingerprint, 1 AS signing_keys, 0 AS netcode_keys, 0 AS credentials, 0 AS project_keys
      FROM signing_keys WHERE tainted_at IS NULL AND verify_until > statement_timestamp()
      UNION ALL SELECT sealed_by, 0, 1, 0, 0 FROM deployments WHERE sealed_by IS NOT NULL
      UNION ALL SELECT coalesce(tokens_by, sealed_by), 0, 0, 1, 0 FROM deployments WHERE coalesce(tokens_by, sealed_by) IS NOT NULL
      UNION ALL SELECT sealed_by, 0, 0, 0, 1 FROM project_keys) k
GROUP BY k.fingerprint;
COMMENT ON COLUMN ops.key_encryption_keys.project_keys IS 'Keys of projects of the realtime lobby whose secrets it seals. Workers seal them again with the newest.';

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets',
                 'realtime_sessions', 'lobbies', 'lobby_members', 'lobby_log', 'realtime_tickets', 'realtime_expired', 'lobby_outcomes']::regclass[]
$$;

-- +goose Down
CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets']::regclass[]
$$;
DROP VIEW ops.key_encryption_keys;
CREATE VIEW ops.key_encryption_keys AS
SELECT k.fingerprint, sum(k.signing_keys)::bigint AS signing_keys, sum(k.netcode_keys)::bigint AS netcode_keys, sum(k.credentials)::bigint AS credentials
FROM (SELECT sealed_by AS fingerprint, 1 AS signing_keys, 0 AS netcode_keys, 0 AS credentials
      FROM signing_keys WHERE tainted_at IS NULL AND verify_until > statement_timestamp()
      UNION ALL SELECT sealed_by, 0, 1, 0 FROM deployments WHERE sealed_by IS NOT NULL
      UNION ALL SELECT coalesce(tokens_by, sealed_by), 0, 0, 1 FROM deployments WHERE coalesce(tokens_by, sealed_by) IS NOT NULL) k
GROUP BY k.fingerprint;
COMMENT ON VIEW ops.key_encryption_keys IS 'What each key-encryption key still seals or authenticates. One that has no row can be retired.';
COMMENT ON COLUMN ops.key_encryption_keys.fingerprint IS 'The fingerprint of the key-encryption key, as in ops.keys.sealed_by.';
COMMENT ON COLUMN ops.key_encryption_keys.signing_keys IS 'Signing keys that it seals and that are next, signing or retiring. Workers seal them again with the newest.';
COMMENT ON COLUMN ops.key_encryption_keys.netcode_keys IS 'Keys of deployments, for netcode connect tokens, that it seals. Workers seal them again with the newest.';
COMMENT ON COLUMN ops.key_encryption_keys.credentials IS 'Deployments whose credentials it authenticates. They keep it for as long as they live.';
DROP FUNCTION realtime_regions, realtime_steady_since;
DROP FUNCTION lobby_regions;
DROP TABLE lobby_outcomes, realtime_expired, realtime_tickets, lobby_log, lobby_members, lobbies, realtime_sessions, project_keys, projects;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION replica_horizon(p_region text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(max(r.seen_at) - max(c.lease_ttl), '-infinity')
    FROM fleet_clock c JOIN replicas r ON r.region = p_region AND r.ended_at IS NULL
     AND r.seen_at > pg_postmaster_start_time() AND r.steady_since <= r.seen_at - c.lease_ttl
$$;
-- +goose StatementEnd
DROP FUNCTION replica_horizon(text, text);
DELETE FROM replicas WHERE face <> 'orchestrator';
ALTER TABLE replicas DROP COLUMN face;
