-- The foundation: instances and their leases, sessions and seats, signing keys, history.
--
-- Every hot table starts its primary key with region, the shard key of a title that outgrows one Postgres.
-- Whoever locks rows takes them in this order, and inside one table by primary key, so that nobody can deadlock:
--   advisory opener lock → sessions → instances → instance_leases → instance_modes.
-- A row of sessions is the lock for its seats: who holds it may wait for a seat. A resolve changes seats without it, and
-- therefore never waits.

-- +goose Up

-- One row: what the whole fleet's leases are judged by. Replicas that serve pulse it while they could hear heartbeats.
CREATE TABLE fleet_clock (
    singleton    boolean PRIMARY KEY DEFAULT true,
    lease_ttl    interval NOT NULL DEFAULT '15 seconds',
    pulse_at     timestamptz NOT NULL DEFAULT '-infinity',
    steady_since timestamptz NOT NULL DEFAULT 'infinity',
    CONSTRAINT there_is_one_fleet_clock CHECK (singleton),
    CONSTRAINT a_lease_lasts_some_time CHECK (lease_ttl > interval '0')
);
INSERT INTO fleet_clock DEFAULT VALUES;

CREATE TABLE instance_directory (
    instance_id text PRIMARY KEY,
    region      text NOT NULL,
    incarnation uuid NOT NULL
);

CREATE TABLE instances (
    region         text NOT NULL,
    id             text NOT NULL,
    incarnation    uuid NOT NULL,
    boot_id        text,
    endpoint       text NOT NULL,
    modes          text[] NOT NULL,
    labels         jsonb NOT NULL DEFAULT '{}',
    version        text,
    cert_digest    text,
    capacity       integer NOT NULL,
    seat_ceiling   integer NOT NULL,
    reserved_seats integer NOT NULL DEFAULT 0,
    max_sessions   integer,
    open_sessions  integer NOT NULL DEFAULT 0,
    status         text NOT NULL DEFAULT 'ready',
    reports_seats  boolean NOT NULL DEFAULT false,
    stranded       boolean NOT NULL DEFAULT false, -- sessions of an ended incarnation wait for the reaper
    registered_at  timestamptz NOT NULL DEFAULT now(),
    ended_at       timestamptz,
    PRIMARY KEY (region, id),
    CONSTRAINT an_instance_is_ready_draining_or_gone CHECK (status IN ('ready', 'draining', 'gone')),
    CONSTRAINT an_instance_has_room_for_somebody CHECK (capacity BETWEEN 1 AND 100000),
    -- Lowering the capacity of a running instance is allowed; the ceiling remembers what was promised before.
    CONSTRAINT reserved_seats_never_pass_the_ceiling CHECK (reserved_seats BETWEEN 0 AND seat_ceiling),
    CONSTRAINT open_sessions_are_counted CHECK (open_sessions >= 0)
) WITH (fillfactor = 70);
CREATE INDEX instances_stranded ON instances (region, id) WHERE stranded;
CREATE INDEX instances_gone ON instances (region, ended_at) WHERE status = 'gone';

-- No index but the key: every heartbeat updates a row, and stays HOT because nothing indexed changes.
CREATE TABLE instance_leases (
    region       text NOT NULL,
    instance_id  text NOT NULL,
    incarnation  uuid NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    load         double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (region, instance_id),
    FOREIGN KEY (region, instance_id) REFERENCES instances ON DELETE CASCADE
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Where a new session may open, least loaded first, without sorting the fleet. Two owners, two columns: heartbeats
-- write load_bucket, reservations write share_bucket (99: full, draining), each only when it changes.
CREATE TABLE instance_modes (
    region       text NOT NULL,
    instance_id  text NOT NULL,
    mode         text NOT NULL,
    load_bucket  smallint NOT NULL DEFAULT 0,
    share_bucket smallint NOT NULL DEFAULT 0,
    bucket       smallint NOT NULL GENERATED ALWAYS AS (greatest(load_bucket, share_bucket)) STORED,
    PRIMARY KEY (region, instance_id, mode),
    FOREIGN KEY (region, instance_id) REFERENCES instances ON DELETE CASCADE
) WITH (fillfactor = 80);
CREATE INDEX instance_modes_least_loaded ON instance_modes (region, mode, bucket, instance_id);

-- Open sessions only: closing moves the row to session_history.
CREATE TABLE sessions (
    region       text NOT NULL,
    id           uuid NOT NULL,
    handle       text NOT NULL,
    mode         text NOT NULL,
    instance_id  text NOT NULL,
    incarnation  uuid NOT NULL,
    player_count integer NOT NULL,
    max_players  integer NOT NULL,
    opened_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, id),
    FOREIGN KEY (region, instance_id) REFERENCES instances,
    CONSTRAINT a_handle_names_one_session UNIQUE (region, handle),
    CONSTRAINT a_session_never_seats_more_than_it_holds CHECK (player_count BETWEEN 0 AND max_players),
    CONSTRAINT a_session_holds_1_to_1024_players CHECK (max_players BETWEEN 1 AND 1024)
) WITH (fillfactor = 80);
-- Equality first, then fullest first: the scan that fills sessions reads only what it takes.
CREATE INDEX sessions_with_room ON sessions (region, mode, max_players, player_count DESC, id) WHERE player_count < max_players;
CREATE INDEX sessions_of_instance ON sessions (region, instance_id);

CREATE TABLE seats (
    region           text NOT NULL,
    session_id       uuid NOT NULL,
    sub              text NOT NULL,
    mode             text NOT NULL,
    state            text NOT NULL DEFAULT 'reserved',
    party            uuid NOT NULL,     -- the same for the same set of players
    reserved_by      text NOT NULL,
    reserved_at      timestamptz NOT NULL DEFAULT now(),
    resolved_at      timestamptz,
    connected_at     timestamptz,
    expires_at       timestamptz,       -- when a seat nobody connected to is freed
    jti              text,              -- the token the player connected with
    PRIMARY KEY (region, session_id, sub),
    FOREIGN KEY (region, session_id) REFERENCES sessions,
    CONSTRAINT a_seat_is_reserved_or_connected CHECK (state IN ('reserved', 'connected')),
    CONSTRAINT a_reserved_seat_ends_some_day CHECK (state = 'connected' OR expires_at IS NOT NULL)
);
CREATE UNIQUE INDEX a_player_waits_for_one_seat_per_mode ON seats (region, mode, sub) WHERE state = 'reserved';
CREATE INDEX seats_of_player ON seats (region, sub);
CREATE INDEX seats_reserved_by ON seats (region, reserved_by) WHERE state = 'reserved';
CREATE INDEX seats_by_expiry ON seats (expires_at) WHERE state = 'reserved'; -- led by region it would look good for anything

-- Token ids that were redeemed, kept until no token of that id can be valid any more.
CREATE TABLE redeemed_tokens (
    region     text NOT NULL,
    jti        text NOT NULL,
    session_id uuid NOT NULL,
    sub        text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (region, jti)
);
CREATE INDEX redeemed_tokens_by_expiry ON redeemed_tokens (expires_at);

CREATE TABLE idempotency_keys (
    caller       text NOT NULL,
    key          text NOT NULL,
    request_hash bytea NOT NULL,
    answer       jsonb NOT NULL,
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (caller, key)
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- lead and overlap are what the key was made with, so that the constraints can hold the promise to verifiers:
-- nobody meets a signature whose key it could not have seen, or lost too early.
CREATE TABLE signing_keys (
    kid            text PRIMARY KEY,
    alg            text NOT NULL,
    public_jwk     jsonb NOT NULL,
    sealed_private bytea NOT NULL,
    sealed_by      text NOT NULL,
    publish_at     timestamptz NOT NULL,
    sign_from      timestamptz NOT NULL,
    sign_until     timestamptz NOT NULL,
    verify_until   timestamptz NOT NULL,
    lead           interval NOT NULL,
    overlap        interval NOT NULL,
    tainted_at     timestamptz,
    created_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT a_key_is_published_before_it_signs CHECK (sign_from >= publish_at + lead),
    CONSTRAINT a_key_signs_for_some_time CHECK (sign_until > sign_from),
    CONSTRAINT a_key_outlives_its_tokens CHECK (tainted_at IS NOT NULL OR verify_until >= sign_until + overlap),
    CONSTRAINT one_key_signs_at_a_time EXCLUDE USING gist (tstzrange(sign_from, sign_until) WITH &&) WHERE (tainted_at IS NULL)
);

-- History: append-only, a partition a day, dropped whole. The default partitions catch what no day was made for.
CREATE TABLE session_history (
    region       text NOT NULL,
    id           uuid NOT NULL,
    handle       text NOT NULL,
    mode         text NOT NULL,
    instance_id  text NOT NULL,
    incarnation  uuid NOT NULL,
    player_count integer NOT NULL, -- when it closed
    max_players  integer NOT NULL,
    opened_at    timestamptz NOT NULL,
    closed_at    timestamptz NOT NULL DEFAULT now(),
    reason       text NOT NULL,
    PRIMARY KEY (region, id, closed_at)
) PARTITION BY RANGE (closed_at);
CREATE INDEX session_history_by_handle ON session_history (region, handle);
CREATE TABLE session_history_default PARTITION OF session_history DEFAULT;

CREATE TABLE seat_history (
    region       text NOT NULL,
    session_id   uuid NOT NULL,
    sub          text NOT NULL,
    mode         text NOT NULL,
    party        uuid NOT NULL,
    reserved_by  text NOT NULL,
    reserved_at  timestamptz NOT NULL,
    resolved_at  timestamptz,
    connected_at timestamptz,
    jti          text,
    left_at      timestamptz NOT NULL DEFAULT now(),
    reason       text NOT NULL
) PARTITION BY RANGE (left_at);
CREATE INDEX seat_history_of_session ON seat_history (region, session_id, sub);
CREATE TABLE seat_history_default PARTITION OF seat_history DEFAULT;

-- tx makes the log readable in an order without gaps: rows below pg_snapshot_xmin can no longer appear.
CREATE TABLE events (
    region      text NOT NULL DEFAULT '',
    at          timestamptz NOT NULL DEFAULT now(),
    tx          xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    kind        text NOT NULL,
    actor       text NOT NULL DEFAULT 'director',
    instance_id text,
    session_id  uuid,
    detail      jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (region, at, id)
) PARTITION BY RANGE (at);
CREATE INDEX events_in_commit_order ON events (tx, id);
CREATE TABLE events_default PARTITION OF events DEFAULT;

-- Heartbeats at or before the horizon are too old. It stands still while nobody pulses, so that no lease runs out while
-- heartbeats cannot be heard; and after a gap, or a restart of Postgres, there is an amnesty (-infinity) until they could
-- be heard for one full lease. Call it as (SELECT lease_horizon()).
-- +goose StatementBegin
CREATE FUNCTION lease_horizon() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN pulse_at > pg_postmaster_start_time() AND steady_since <= statement_timestamp() - lease_ttl
        THEN least(statement_timestamp(), pulse_at + lease_ttl / 5) - lease_ttl
        ELSE '-infinity' END
    FROM fleet_clock
$$;
-- +goose StatementEnd

-- Sessions whose instance is the one they were opened on and has a live lease: what resolve and rejoin go by.
CREATE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       i.endpoint, i.status AS instance_status, i.reports_seats
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id AND l.heartbeat_at > (SELECT lease_horizon());

-- Those that new players may be put into.
CREATE VIEW fillable_sessions AS
SELECT * FROM live_sessions WHERE player_count < max_players AND instance_status = 'ready';

-- Instances that new sessions of a mode may be opened on, as far as their room allows.
CREATE VIEW open_hosts AS
SELECT m.region, m.mode, m.bucket, i.id, l.load, i.reserved_seats, i.capacity, i.capacity - i.reserved_seats AS free_seats
FROM instance_modes m
JOIN instances i ON i.region = m.region AND i.id = m.instance_id AND i.status = 'ready' AND i.reserved_seats < i.capacity
     AND (i.max_sessions IS NULL OR i.open_sessions < i.max_sessions)
JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id AND l.heartbeat_at > (SELECT lease_horizon())
WHERE m.bucket < 99;

-- 0..8 for a load up to 1, then one bucket for each doubling: a load may be a share or a count.
-- +goose StatementBegin
CREATE FUNCTION load_bucket(load double precision) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN load <= 1 THEN floor(load * 8) ELSE 9 + floor(least(log(2, load::numeric), 40)) END::smallint
$$;
-- +goose StatementEnd

-- Eighths of the capacity that open sessions take; 99 where no session can open.
-- +goose StatementBegin
CREATE FUNCTION share_bucket(i instances) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN i.status <> 'ready' OR i.reserved_seats >= i.capacity OR i.open_sessions >= i.max_sessions THEN 99
        ELSE i.reserved_seats * 8 / i.capacity END::smallint
$$;
-- +goose StatementEnd

-- Call it in the transaction that changed the instances, after the change and under their locks.
-- +goose StatementBegin
CREATE FUNCTION refresh_shares(p_region text, p_instances text[]) RETURNS void LANGUAGE sql AS $$
    UPDATE instance_modes m SET share_bucket = n.share
    FROM (
        SELECT mm.instance_id, mm.mode, share_bucket(i) AS share
        FROM instance_modes mm JOIN instances i ON i.region = mm.region AND i.id = mm.instance_id
        WHERE mm.region = p_region AND mm.instance_id = ANY (p_instances) AND mm.share_bucket <> share_bucket(i)
        ORDER BY mm.instance_id, mm.mode FOR NO KEY UPDATE OF mm
    ) n
    WHERE m.region = p_region AND m.instance_id = n.instance_id AND m.mode = n.mode
$$;
-- +goose StatementEnd

-- Closes sessions: their seats and they themselves go to history, their instances get the room back.
-- +goose StatementBegin
CREATE FUNCTION close_sessions(p_region text, p_ids uuid[], p_reason text, p_actor text DEFAULT 'director')
RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
    hosts text[];
BEGIN
    PERFORM 1 FROM sessions WHERE region = p_region AND id = ANY (p_ids) ORDER BY id FOR UPDATE;
    hosts := ARRAY(SELECT DISTINCT s.instance_id FROM sessions s WHERE s.region = p_region AND s.id = ANY (p_ids));
    PERFORM 1 FROM instances WHERE region = p_region AND id = ANY (hosts) ORDER BY id FOR NO KEY UPDATE;
    PERFORM 1 FROM seats WHERE region = p_region AND session_id = ANY (p_ids) ORDER BY session_id, sub FOR UPDATE;

    WITH gone AS (DELETE FROM seats WHERE region = p_region AND session_id = ANY (p_ids) RETURNING *)
    INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, reason)
    SELECT region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, 'session ' || p_reason FROM gone;

    RETURN QUERY
    WITH gone AS (
        DELETE FROM sessions WHERE region = p_region AND id = ANY (p_ids) RETURNING *
    ), kept AS (
        INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, reason)
        SELECT g.region, g.id, g.handle, g.mode, g.instance_id, g.incarnation, g.player_count, g.max_players, g.opened_at, p_reason FROM gone g
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

-- Closes what it can of the sessions that an instance left behind, without waiting: the caller holds the instance, and
-- waiting for a session from there would be against the lock order. What stays is marked stranded, for the reaper.
-- +goose StatementBegin
CREATE FUNCTION close_stranded(p_region text, p_instance text, p_reason text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    closed integer;
BEGIN
    SELECT count(*) INTO closed FROM close_sessions(p_region, ARRAY(
        SELECT s.id FROM sessions s JOIN instances i ON i.region = s.region AND i.id = s.instance_id
        WHERE s.region = p_region AND s.instance_id = p_instance AND (i.status = 'gone' OR i.incarnation <> s.incarnation)
        ORDER BY s.id FOR UPDATE OF s SKIP LOCKED), p_reason);
    UPDATE instances i SET stranded = EXISTS (
        SELECT 1 FROM sessions s WHERE s.region = i.region AND s.instance_id = i.id AND (i.status = 'gone' OR i.incarnation <> s.incarnation))
    WHERE i.region = p_region AND i.id = p_instance;
    RETURN closed;
END
$$;
-- +goose StatementEnd

-- Ends an instance: no lease, no placement, sessions closed with the reason. The caller holds its row.
-- +goose StatementBegin
CREATE FUNCTION end_instance(p_region text, p_instance text, p_reason text) RETURNS integer LANGUAGE plpgsql AS $$
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

-- The newest migration this schema has.
-- +goose StatementBegin
CREATE FUNCTION schema_version() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied);
END
$$;
-- +goose StatementEnd

-- Tells the planner about hot tables that grew by half since it last looked. Autovacuum does so once a minute, which is
-- long for a young installation: a planner that knows nothing takes a region for selective, and keeps such a plan.
-- +goose StatementBegin
CREATE FUNCTION analyze_grown() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    hot  regclass;
    done integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('director.analyze')) THEN
        RETURN 0; -- another worker is at it
    END IF;
    PERFORM set_config('lock_timeout', '1s', true);
    FOR hot IN
        SELECT c.oid FROM pg_class c
        WHERE c.oid = ANY (ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats',
                                 'redeemed_tokens', 'idempotency_keys']::regclass[])
          AND c.reltuples < 200000 AND pg_stat_get_live_tuples(c.oid) > greatest(50, c.reltuples * 1.5)
    LOOP
        EXECUTE format('ANALYZE %s', hot);
        done := done + 1;
    END LOOP;
    RETURN done;
END
$$;
-- +goose StatementEnd

-- Makes the day partitions of a history table from today to `ahead` days on. A day that the default partition
-- already holds rows of is left to it.
-- +goose StatementBegin
CREATE FUNCTION ensure_day_partitions(p_table text, p_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    day  date;
    part text;
    made integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('director.history.' || p_table)) THEN
        RETURN 0; -- another worker is at it
    END IF;
    PERFORM set_config('lock_timeout', '2s', true);
    FOR day IN SELECT d::date FROM generate_series((now() AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date + p_ahead, interval '1 day') d LOOP
        part := p_table || '_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(quote_ident(part)) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, p_table);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                p_table, part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
            made := made + 1;
        EXCEPTION WHEN check_violation OR lock_not_available THEN
            NULL; -- rows of that day are in the default partition, or somebody reads it
        END;
    END LOOP;
    RETURN made;
END
$$;
-- +goose StatementEnd

-- Drops the day partitions that ended before the given time, oldest first. (DETACH CONCURRENTLY is refused beside a
-- default partition, so the short lock is bounded instead.)
-- +goose StatementBegin
CREATE FUNCTION drop_day_partitions(p_table text, p_before timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    part    text;
    dropped integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('director.history.' || p_table)) THEN
        RETURN 0; -- another worker is at it
    END IF;
    PERFORM set_config('lock_timeout', '2s', true);
    FOR part IN
        SELECT c.relname FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid
        WHERE h.inhparent = to_regclass(quote_ident(p_table)) AND c.relname ~ ('^' || p_table || '_[0-9]{8}$')
          AND to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= (p_before AT TIME ZONE 'UTC')::date
        ORDER BY c.relname
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE %I', part);
            dropped := dropped + 1;
        EXCEPTION WHEN lock_not_available THEN
            EXIT; -- somebody reads it: next time
        END;
    END LOOP;
    RETURN dropped;
END
$$;
-- +goose StatementEnd

SELECT ensure_day_partitions(t, 7) FROM unnest(ARRAY['session_history', 'seat_history', 'events']) t;

-- +goose Down
DROP VIEW fillable_sessions, open_hosts, live_sessions;
DROP TABLE events, seat_history, session_history, signing_keys, idempotency_keys, redeemed_tokens, seats, sessions,
    instance_modes, instance_leases, instance_directory, fleet_clock CASCADE;
DROP FUNCTION analyze_grown, schema_version, drop_day_partitions, ensure_day_partitions, end_instance, close_stranded, close_sessions, refresh_shares,
    share_bucket(instances), load_bucket, lease_horizon;
DROP TABLE instances;
