-- Provisioning: game servers that providers (processes, Docker, Edgegap, Agones) run for the director.
--
-- An app version says how a server is started. A pool says how many servers of an app version a region has. A deployment is one server, from
-- the decision to start it until nothing of it is left at its provider. Demand says who waits for a server.
--
-- Locks are taken in this order, which continues those of 00017 and 00022, and within a table by primary key:
--   pools → … instances → instance_leases → instance_modes → deployments → demand → netcode_tokens → … → inserts.
-- No lock is held while a provider is called.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Reference data, the same in all regions. What running servers depend on does not change once used_at is set.
CREATE TABLE app_versions (
    app             text COLLATE "C" NOT NULL,
    version         text COLLATE "C" NOT NULL,
    provider        text COLLATE "C" NOT NULL,        -- process, docker, edgegap, agones or manual
    launch          text NOT NULL,                    -- application, image, or the name of a command
    launch_version  text NOT NULL DEFAULT '',
    ports           jsonb NOT NULL,                   -- [{name, internal, protocol}]
    game_port       text NOT NULL,                    -- name of the port that players dial
    endpoint        text NOT NULL DEFAULT '{ip}:{port}',
    modes           text[] NOT NULL,
    capacity        integer NOT NULL,
    max_sessions    integer,                          -- null: as many as the capacity allows
    max_players     integer NOT NULL,                 -- of a session
    env             jsonb NOT NULL DEFAULT '{}',
    cpu_units       integer NOT NULL DEFAULT 0,       -- 1024 are one CPU; 0: the provider's default
    memory_mib      integer NOT NULL DEFAULT 0,
    start_within    interval NOT NULL DEFAULT '3 minutes',
    register_within interval NOT NULL DEFAULT '1 minute',
    grace           interval NOT NULL DEFAULT '30 seconds',
    max_lifetime    interval NOT NULL DEFAULT '24 hours',
    drain_ahead     interval NOT NULL DEFAULT '1 hour',
    dialect         text,                             -- of netcode connect tokens; null: the app uses none
    protocol_id     text,                             -- unsigned 64 bits, in decimal
    digest_required boolean NOT NULL DEFAULT false,
    compat          text,                             -- arbitrium: the environment of Edgegap's servers everywhere
    failures        integer NOT NULL DEFAULT 0,       -- permanent errors of Deploy, and silent servers, since the last success
    paused_until    timestamptz,
    pause_reason    text,
    used_at         timestamptz,                      -- when the first server of it was started
    applied_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, version),
    CONSTRAINT an_app_version_hosts_a_whole_session CHECK (max_players >= 1 AND capacity BETWEEN max_players AND 100000),
    CONSTRAINT netcode_needs_a_protocol CHECK ((dialect IS NULL) = (protocol_id IS NULL)),
    CONSTRAINT a_pause_of_a_version_has_an_end CHECK (isfinite(paused_until)),
    CONSTRAINT an_app_version_has_a_mode CHECK (cardinality(modes) BETWEEN 1 AND 64)
);

CREATE TABLE pools (
    region         text NOT NULL,
    app            text COLLATE "C" NOT NULL,
    version        text COLLATE "C" NOT NULL,
    min_servers    integer NOT NULL DEFAULT 0,
    max_servers    integer NOT NULL,
    buffer         integer NOT NULL DEFAULT 0,        -- servers without players that are kept ready
    buffer_percent boolean NOT NULL DEFAULT false,    -- buffer is a share of all servers
    max_starting   integer NOT NULL DEFAULT 50,
    empty_ttl      interval NOT NULL DEFAULT '5 minutes',
    latitude       double precision,
    longitude      double precision,
    networks       cidr[] NOT NULL DEFAULT '{}',      -- of players whom this region hosts best
    paused_until   timestamptz,                       -- starts no servers until then; the year 9999: until an operator resumes it
    pause_reason   text,
    failures       integer NOT NULL DEFAULT 0,        -- refusals for lack of capacity since the last success
    surplus_since  timestamptz,                       -- since when there are more servers than the target
    last_plan      jsonb,                             -- the sum that the last plan made, for people
    planned_at     timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (region, app, version),
    CONSTRAINT a_pool_has_an_app_version FOREIGN KEY (app, version) REFERENCES app_versions (app, version),
    CONSTRAINT min_servers_fit_max_servers CHECK (min_servers >= 0 AND min_servers <= max_servers),
    CONSTRAINT a_buffer_is_no_whole_pool CHECK (buffer >= 0 AND (NOT buffer_percent OR buffer < 100)),
    CONSTRAINT a_pause_of_a_pool_has_an_end CHECK (isfinite(paused_until)),
    CONSTRAINT coordinates_are_a_pair CHECK ((latitude IS NULL) = (longitude IS NULL))
) WITH (fillfactor = 50);

-- Placement knows modes and no versions, so a mode of a region belongs to one pool.
CREATE TABLE pool_modes (
    region  text NOT NULL,
    mode    text COLLATE "C" NOT NULL,
    app     text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    PRIMARY KEY (region, mode),
    CONSTRAINT a_mode_belongs_to_a_pool FOREIGN KEY (region, app, version) REFERENCES pools (region, app, version)
);
CREATE INDEX pool_modes_of_pool ON pool_modes (region, app, version);

-- wanted → deploying (the intent to start is committed) → starting (ref is known) → ready → draining → stopping → gone, when the row moves to
-- deployment_history; failed → stopping. The instance that the server registers has the deployment's id.
CREATE TABLE deployments (
    region            text NOT NULL,
    id                uuid NOT NULL,
    app               text COLLATE "C" NOT NULL,
    version           text COLLATE "C" NOT NULL,
    provider          text COLLATE "C" NOT NULL,
    tag               text COLLATE "C" NOT NULL,          -- random; names the server at its provider before ref is known
    origin            text NOT NULL DEFAULT 'pool',       -- pool, or operator
    desired           text NOT NULL DEFAULT 'running',
    phase             text NOT NULL DEFAULT 'wanted',
    generation        bigint NOT NULL DEFAULT 0,          -- of decisions: a decision made on an older one is dropped
    attempt           integer NOT NULL DEFAULT 0,         -- intents so far
    intent_at         timestamptz,                        -- of the last intent to call Deploy
    ref               text,                               -- the provider's name of it
    polls             integer NOT NULL DEFAULT 0,         -- calls without progress, for the pause before the next one
    next_at           timestamptz DEFAULT now(),          -- of the next step; null: only a wake-up makes it due
    woken_at          timestamptz,                        -- of the last wake-up
    lease             uuid,                               -- of the step in progress
    leased_until      timestamptz,
    address           inet,                               -- of a player, until it is deployed
    location          text,                               -- where the provider runs it
    ip                inet,
    ports             jsonb,                              -- as the provider maps them: {name: {name, internal, external, protocol}}
    endpoint          text,                               -- that players dial
    provider_ready_at timestamptz,
    incarnation       uuid,                               -- of its instance, once registered
    registered_at     timestamptz,
    ready_at          timestamptz,                        -- both; placement may use it
    lost_at           timestamptz,                        -- when the lease of its instance expired, until it registers again
    find_at           timestamptz,                         -- of the next look for a second server under the tag, after a second call of Deploy
    unlisted          integer NOT NULL DEFAULT 0,         -- complete lists of the provider, one after the other, that lack it
    boot_id           text,                               -- of the process that registered last
    boots             integer NOT NULL DEFAULT 0,         -- since boots_since
    boots_since       timestamptz,
    cert_digest       text,
    netcode_key       bytea,                              -- sealed
    sealed_by         text,                               -- fingerprint of the key-encryption key
    tokens_by         text,                               -- fingerprint of the key-encryption key that authenticates its server, since it registered
    clients_seq       bigint NOT NULL DEFAULT 0,          -- of the last list of clients, of this incarnation
    drain_at          timestamptz,
    ends_at           timestamptz,                        -- when the provider ends it
    stop_at           timestamptz,                        -- when Stop was first decided
    reason            text,                               -- why it ends
    last_error        text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT a_deployment_is_wanted_or_not CHECK (desired IN ('running', 'stopped')),
    CONSTRAINT a_deployment_has_a_known_phase CHECK (phase IN ('wanted', 'deploying', 'starting', 'ready', 'draining', 'failed', 'stopping')),
    CONSTRAINT a_ref_has_an_intent CHECK (ref IS NULL OR intent_at IS NOT NULL),
    CONSTRAINT a_ready_deployment_has_an_endpoint CHECK (phase <> 'ready' OR endpoint IS NOT NULL AND incarnation IS NOT NULL),
    CONSTRAINT a_lease_ends CHECK ((lease IS NULL) = (leased_until IS NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE deployments ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX deployments_due ON deployments (region, provider, next_at) WHERE next_at IS NOT NULL; -- a worker may lack a provider
CREATE INDEX deployments_of_pool ON deployments (region, app, version);
CREATE UNIQUE INDEX one_deployment_has_a_tag ON deployments (region, tag);
CREATE UNIQUE INDEX one_deployment_has_a_ref ON deployments (region, provider, ref) WHERE ref IS NOT NULL;
-- The last of the indexes: while the table is empty all of them cost the same, and the planner takes the newest.
ALTER TABLE deployments ADD CONSTRAINT deployments_pkey PRIMARY KEY (region, id);

CREATE TABLE deployment_history (
    region            text NOT NULL,
    id                uuid NOT NULL,
    app               text NOT NULL,
    version           text NOT NULL,
    provider          text NOT NULL,
    tag               text NOT NULL,
    origin            text NOT NULL,
    attempt           integer NOT NULL,
    ref               text,
    location          text,
    endpoint          text,
    created_at        timestamptz NOT NULL,
    provider_ready_at timestamptz,
    registered_at     timestamptz,
    ready_at          timestamptz,
    stop_at           timestamptz,
    reason            text,
    last_error        text,
    gone_at           timestamptz NOT NULL,
    PRIMARY KEY (region, id, gone_at)
) PARTITION BY RANGE (gone_at);
CREATE TABLE deployment_history_default PARTITION OF deployment_history DEFAULT;
SELECT ensure_day_partitions('deployment_history', 7) FROM generate_series(0, 7); -- a day a call

-- A client id is the identity of a connect token. It is kept until the token can no longer be used, and while its player is connected: which
-- the seat says, so pruning moves expires_at ahead.
CREATE TABLE netcode_tokens (
    region        text NOT NULL,
    client_id     bigint NOT NULL,
    session_id    uuid NOT NULL,
    sub           text COLLATE "C" NOT NULL,
    deployment_id uuid NOT NULL,
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (region, client_id),
    CONSTRAINT a_client_id_is_positive CHECK (client_id > 0)
) WITH (fillfactor = 90);
ALTER TABLE netcode_tokens ALTER COLUMN region SET (n_distinct = 1);
CREATE INDEX netcode_tokens_by_expiry ON netcode_tokens (region, expires_at);

-- How many calls the workers may make together. tokens is what was left at refilled_at.
CREATE TABLE provider_budgets (
    provider      text COLLATE "C" NOT NULL,
    class         text COLLATE "C" NOT NULL,   -- deploy, get, list or stop; sweep: no budget, but when the next complete list is due
    tokens        double precision NOT NULL,
    refilled_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    blocked_until timestamptz,                 -- the provider asked for a pause
    PRIMARY KEY (provider, class)
) WITH (fillfactor = 50);

-- One row: what this database is. A restored copy keeps the owner, and its workers have another setting.
CREATE TABLE installation (
    only_row        boolean PRIMARY KEY DEFAULT true,
    provision_owner text,
    CONSTRAINT there_is_one_installation CHECK (only_row)
);

-- Rows of the director loop keep these columns as they are here: workers of the release before write them. The keys of other rows
-- have a third part that is no region, because these workers delete rows by that part.
ALTER TABLE demand
    ADD COLUMN source      text NOT NULL DEFAULT 'loop',  -- loop, matchmake or bevygap
    ADD COLUMN party       integer,                        -- players that need seats in one session; null: all of it
    ADD COLUMN max_players integer,                        -- seats of that session; null: the key says it
    ADD COLUMN party_key   uuid,                           -- rows of one party have the same
    ADD COLUMN expires_at  timestamptz,                    -- null: its writer deletes it
    ADD COLUMN address     inet,                           -- of a player
    ADD CONSTRAINT a_party_fits_its_session CHECK (party BETWEEN 1 AND max_players) NOT VALID;
CREATE INDEX demand_by_expiry ON demand (region, expires_at) WHERE expires_at IS NOT NULL;

ALTER TABLE instances
    ADD COLUMN deployment_id uuid,                         -- null: somebody else started it
    ADD COLUMN emptied_at    timestamptz;                  -- when its last session closed; null: it had none
ALTER TABLE instances DROP CONSTRAINT an_instance_is_ready_draining_or_gone;
ALTER TABLE instances ADD CONSTRAINT an_instance_has_a_known_status CHECK (status IN ('starting', 'ready', 'draining', 'gone')) NOT VALID;
CREATE UNIQUE INDEX one_instance_has_a_deployment ON instances (region, deployment_id) WHERE deployment_id IS NOT NULL AND status <> 'gone';

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands',
                 'pools', 'deployments', 'netcode_tokens', 'provider_budgets']::regclass[]
$$;

-- As in 00017, and the time when an instance became empty.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION close_sessions(p_region text, p_ids uuid[], p_reason text, p_actor text DEFAULT 'director')
RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
    hosts text[];
BEGIN
    PERFORM 1 FROM sessions WHERE region = p_region AND id = ANY (p_ids) ORDER BY id FOR UPDATE;
    hosts := ARRAY(SELECT DISTINCT s.instance_id FROM sessions s WHERE s.region = p_region AND s.id = ANY (p_ids));
    PERFORM 1 FROM instances WHERE region = p_region AND id = ANY (hosts) ORDER BY id FOR NO KEY UPDATE;
    PERFORM 1 FROM seats WHERE region = p_region AND session_id = ANY (p_ids) ORDER BY session_id, sub FOR UPDATE;

    WITH gone AS (DELETE FROM seats WHERE region = p_region AND session_id = ANY (p_ids) RETURNING *)
    INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, reason, match_id, team)
    SELECT region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, 'session ' || p_reason, match_id, team FROM gone;

    DELETE FROM matches m USING sessions s
    WHERE s.region = p_region AND s.id = ANY (p_ids) AND s.match_id IS NOT NULL AND m.region = p_region AND m.id = s.match_id;

    RETURN QUERY
    WITH gone AS (
        DELETE FROM sessions WHERE region = p_region AND id = ANY (p_ids) RETURNING *
    ), kept AS (
        INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, reason, match_id)
        SELECT g.region, g.id, g.handle, g.mode, g.instance_id, g.incarnation, g.player_count, g.max_players, g.opened_at, p_reason, g.match_id FROM gone g
    ), freed AS (
        UPDATE instances i SET reserved_seats = i.reserved_seats - f.seats, open_sessions = i.open_sessions - f.n,
                               emptied_at = CASE WHEN i.open_sessions = f.n THEN clock_timestamp() END
        FROM (SELECT g.instance_id, sum(g.max_players) AS seats, count(*) AS n FROM gone g GROUP BY g.instance_id) f
        WHERE i.region = p_region AND i.id = f.instance_id
    ), logged AS (
        INSERT INTO events (region, kind, actor, instance_id, session_id, detail)
        SELECT g.region, 'session.closed', p_actor, g.instance_id, g.id, jsonb_build_object('reason', p_reason, 'players', g.player_count) FROM gone g
    )
    SELECT g.id FROM gone g;

    PERFORM refresh_shares(p_region, hosts);
END
$$;
-- +goose StatementEnd

-- The end of an instance makes its deployment due: its provider is asked whether the server still runs.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION end_instance(p_region text, p_instance text, p_reason text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    deployment uuid;
BEGIN
    UPDATE instances SET status = 'gone', ended_at = now() WHERE region = p_region AND id = p_instance RETURNING deployment_id INTO deployment;
    DELETE FROM instance_leases WHERE region = p_region AND instance_id = p_instance;
    DELETE FROM instance_modes WHERE region = p_region AND instance_id = p_instance;
    INSERT INTO events (region, kind, instance_id, detail)
    VALUES (p_region, 'instance.ended', p_instance, jsonb_build_object('reason', p_reason));
    IF deployment IS NOT NULL THEN
        UPDATE deployments SET lost_at = coalesce(lost_at, now()), next_at = now(), woken_at = clock_timestamp()
        WHERE region = p_region AND id = deployment;
    END IF;
    RETURN close_stranded(p_region, p_instance, p_reason);
END
$$;
-- +goose StatementEnd

-- As in 00024, with the deployment of the instance, whose connect tokens players get.
CREATE OR REPLACE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       h.endpoint, h.status AS instance_status, h.reports_seats, s.match_id,
       h.creates_rooms AND s.room_at IS NULL AND ( -- not NOT EXISTS, for which the planner might hash the rooms of the whole region
           SELECT r.state <> 'reserved' FROM rooms r WHERE r.region = s.region AND r.id = s.id::text COLLATE "C") IS NOT TRUE AS awaits_room,
       h.deployment_id
FROM sessions s CROSS JOIN LATERAL (
    SELECT i.endpoint, i.status, i.reports_seats, i.creates_rooms, i.deployment_id
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      AND l.heartbeat_at > (SELECT lease_horizon())
    LIMIT 1) h;

-- What each key-encryption key is still needed for. Keys that nothing opens any more are not counted.
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
-- From the commit of this transaction on, the instance of the deployment gets no new players. A worker then stops the server. The generation
-- makes a step drop its decision that a worker has in progress.
-- +goose StatementBegin
CREATE FUNCTION stop_deployment(p_region text, p_id uuid, p_reason text, p_now timestamptz DEFAULT now(), p_actor text DEFAULT 'director')
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE instances SET status = 'draining' WHERE region = p_region AND id = p_id::text AND status IN ('starting', 'ready');
    UPDATE deployments SET desired = 'stopped', generation = generation + 1, reason = coalesce(reason, p_reason), stop_at = coalesce(stop_at, p_now), polls = 0,
           next_at = p_now, woken_at = clock_timestamp()
    WHERE region = p_region AND id = p_id AND desired = 'running';
    IF FOUND THEN
        INSERT INTO events (region, kind, actor, instance_id, detail)
        VALUES (p_region, 'deployment.stopped', p_actor, p_id::text, jsonb_build_object('reason', p_reason));
    END IF;
    RETURN FOUND;
END
$$;
-- +goose StatementEnd

-- The regions that have pools or deployments.
CREATE FUNCTION provision_regions() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT DISTINCT region FROM pools
    UNION
    (WITH RECURSIVE r AS (
        (SELECT region FROM deployments ORDER BY region LIMIT 1)
        UNION ALL
        SELECT (SELECT n.region FROM deployments n WHERE n.region > r.region ORDER BY n.region LIMIT 1) FROM r WHERE r.region IS NOT NULL)
    SELECT region FROM r WHERE region IS NOT NULL)
$$;
COMMENT ON FUNCTION provision_regions() IS 'The regions that have pools or deployments.';

-- The key of a loop's row is PROFILE/SEATS/UNIVERSE.
DROP VIEW ops.demand;
CREATE VIEW ops.demand AS
SELECT d.region, d.mode, d.source, CASE d.source WHEN 'loop' THEN split_part(d.key, '/', 1) END AS profile,
       CASE d.source WHEN 'loop' THEN split_part(d.key, '/', 2)::int ELSE d.max_players END AS seats, coalesce(d.party, 0) AS party, d.matches, d.players, d.since, d.updated_at,
       d.expires_at, CASE d.source WHEN 'loop' THEN nullif(split_part(d.key, '/', 3), '') END AS universe
FROM demand d;
COMMENT ON VIEW ops.demand IS 'Players that wait for a server, by game region, mode and source.';
COMMENT ON COLUMN ops.demand.region IS 'The game region that is best for them; while no game server offers the mode, the region nearest to them, empty where they measured none.';
COMMENT ON COLUMN ops.demand.mode IS 'The mode that a server must offer.';
COMMENT ON COLUMN ops.demand.source IS 'Where they wait: loop (tickets of the director loop), matchmake (POST /matchmake found no capacity), bevygap (open requests).';
COMMENT ON COLUMN ops.demand.profile IS 'The profile that made the matches, of source loop.';
COMMENT ON COLUMN ops.demand.seats IS 'The seats that a session of them has.';
COMMENT ON COLUMN ops.demand.party IS 'The players that need seats in one session, of sources matchmake and bevygap; 0 for loop.';
COMMENT ON COLUMN ops.demand.matches IS 'How many matches or parties wait.';
COMMENT ON COLUMN ops.demand.players IS 'How many players wait in them.';
COMMENT ON COLUMN ops.demand.since IS 'When the first of them began to wait.';
COMMENT ON COLUMN ops.demand.updated_at IS 'When the row was last written.';
COMMENT ON COLUMN ops.demand.expires_at IS 'When the row lapses unless it is written again; NULL in rows of the loop.';
COMMENT ON COLUMN ops.demand.universe IS 'The region that is the universe of the tickets; NULL for other sources and in rows of an older worker.';

COMMENT ON COLUMN ops.worker_loops.loop IS 'The loop: reap, rotate, prune, agents, queue, analyze, vacuum, history, scale, provision or orphans.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.demand;
DELETE FROM demand WHERE source <> 'loop';
DROP INDEX demand_by_expiry;
ALTER TABLE demand DROP CONSTRAINT a_party_fits_its_session;
ALTER TABLE demand DROP COLUMN source, DROP COLUMN party, DROP COLUMN max_players, DROP COLUMN party_key, DROP COLUMN expires_at, DROP COLUMN address;
CREATE VIEW ops.demand AS
SELECT d.region, d.mode, split_part(d.key, '/', 1) AS profile, split_part(d.key, '/', 2)::int AS seats, d.matches, d.players, d.since, d.updated_at,
       nullif(split_part(d.key, '/', 3), '') AS universe
FROM demand d;
COMMENT ON COLUMN ops.demand.region IS 'The game region that is best for these matches; while no game server offers the mode, the region nearest to their players, empty where they measured none.';
COMMENT ON COLUMN ops.demand.universe IS 'The region that is the universe of the tickets; NULL in rows of an older worker.';

COMMENT ON VIEW ops.demand IS 'Matches that wait for a server, by game region, mode and size.';
COMMENT ON COLUMN ops.demand.mode IS 'The mode that a server must offer.';
COMMENT ON COLUMN ops.demand.profile IS 'The profile that made the matches.';
COMMENT ON COLUMN ops.demand.seats IS 'The seats that a session of them has.';
COMMENT ON COLUMN ops.demand.matches IS 'How many matches wait.';
COMMENT ON COLUMN ops.demand.players IS 'How many players wait in them.';
COMMENT ON COLUMN ops.demand.since IS 'When the first of them began to wait.';
COMMENT ON COLUMN ops.demand.updated_at IS 'When a worker last counted them. It counts every second.';
DROP FUNCTION provision_regions;
COMMENT ON COLUMN ops.worker_loops.loop IS 'The loop: reap, rotate, prune, agents, queue, analyze, vacuum or history.';
DROP VIEW ops.key_encryption_keys, fillable_sessions, live_sessions;
CREATE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       h.endpoint, h.status AS instance_status, h.reports_seats, s.match_id,
       h.creates_rooms AND s.room_at IS NULL AND ( -- not NOT EXISTS, for which the planner might hash the rooms of the whole region
           SELECT r.state <> 'reserved' FROM rooms r WHERE r.region = s.region AND r.id = s.id::text COLLATE "C") IS NOT TRUE AS awaits_room
FROM sessions s CROSS JOIN LATERAL (
    SELECT i.endpoint, i.status, i.reports_seats, i.creates_rooms
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      AND l.heartbeat_at > (SELECT lease_horizon())
    LIMIT 1) h;
CREATE VIEW fillable_sessions AS
SELECT * FROM live_sessions WHERE player_count < max_players AND instance_status = 'ready' AND match_id IS NULL;
DROP FUNCTION stop_deployment;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION end_instance(p_region text, p_instance text, p_reason text) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    UPDATE instances SET status = 'gone', ended_at = now() WHERE region = p_region AND id = p_instance;
    DELETE FROM instance_leases WHERE region = p_region AND instance_id = p_instance;
    DELETE FROM instance_modes WHERE region = p_region AND instance_id = p_instance;
    INSERT INTO events (region, kind, instance_id, detail)
    VALUES (p_region, 'instance.ended', p_instance, jsonb_build_object('reason', p_reason));
    RETURN close_stranded(p_region, p_instance, p_reason);
END
$$;
-- +goose StatementEnd

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand',
                 'replicas', 'agents', 'agent_states', 'rooms', 'commands']::regclass[]
$$;
DROP INDEX one_instance_has_a_deployment;
SELECT end_instance(region, id, 'superseded') FROM instances WHERE status = 'starting';
ALTER TABLE instances DROP CONSTRAINT an_instance_has_a_known_status;
ALTER TABLE instances ADD CONSTRAINT an_instance_is_ready_draining_or_gone CHECK (status IN ('ready', 'draining', 'gone'));
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION close_sessions(p_region text, p_ids uuid[], p_reason text, p_actor text DEFAULT 'director')
RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
    hosts text[];
BEGIN
    PERFORM 1 FROM sessions WHERE region = p_region AND id = ANY (p_ids) ORDER BY id FOR UPDATE;
    hosts := ARRAY(SELECT DISTINCT s.instance_id FROM sessions s WHERE s.region = p_region AND s.id = ANY (p_ids));
    PERFORM 1 FROM instances WHERE region = p_region AND id = ANY (hosts) ORDER BY id FOR NO KEY UPDATE;
    PERFORM 1 FROM seats WHERE region = p_region AND session_id = ANY (p_ids) ORDER BY session_id, sub FOR UPDATE;

    WITH gone AS (DELETE FROM seats WHERE region = p_region AND session_id = ANY (p_ids) RETURNING *)
    INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, reason, match_id, team)
    SELECT region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, 'session ' || p_reason, match_id, team FROM gone;

    DELETE FROM matches m USING sessions s
    WHERE s.region = p_region AND s.id = ANY (p_ids) AND s.match_id IS NOT NULL AND m.region = p_region AND m.id = s.match_id;

    RETURN QUERY
    WITH gone AS (
        DELETE FROM sessions WHERE region = p_region AND id = ANY (p_ids) RETURNING *
    ), kept AS (
        INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, reason, match_id)
        SELECT g.region, g.id, g.handle, g.mode, g.instance_id, g.incarnation, g.player_count, g.max_players, g.opened_at, p_reason, g.match_id FROM gone g
    ), freed AS (
        UPDATE instances i SET reserved_seats = i.reserved_seats - f.seats, open_sessions = i.open_sessions - f.n
        FROM (SELECT g.instance_id, sum(g.max_players) AS seats, count(*) AS n FROM gone g GROUP BY g.instance_id) f
        WHERE i.region = p_region AND i.id = f.instance_id
    ), logged AS (
        INSERT INTO events (region, kind, actor, instance_id, session_id, detail)
        SELECT g.region, 'session.closed', p_actor, g.instance_id, g.id, jsonb_build_object('reason', p_reason, 'players', g.player_count) FROM gone g
    )
    SELECT g.id FROM gone g;

    PERFORM refresh_shares(p_region, hosts);
END
$$;
-- +goose StatementEnd
ALTER TABLE instances DROP COLUMN deployment_id, DROP COLUMN emptied_at;
DROP TABLE installation, provider_budgets, netcode_tokens, deployment_history, deployments, pool_modes, pools, app_versions;
