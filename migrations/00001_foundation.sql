-- The foundation: instances and their leases, sessions and seats, signing keys, history.
--
-- Every hot table starts its primary key with region, the shard key of a title that outgrows one Postgres.
-- Every transaction locks rows in this order, and within a table in the order of the primary key, so that none deadlock:
--   advisory opener lock → sessions → instances → instance_leases → instance_modes.
-- The lock of a session also protects its seats: a transaction that holds it may wait for a seat. A resolve changes seats
-- without that lock, and therefore never waits for one.

-- +goose Up

-- One row, the clock for all leases. Serving replicas set pulse_at while they can receive heartbeats.
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
    -- The capacity of a running instance may be lowered below its reserved seats; the ceiling then stays at these.
    CONSTRAINT reserved_seats_never_pass_the_ceiling CHECK (reserved_seats BETWEEN 0 AND seat_ceiling),
    CONSTRAINT open_sessions_are_counted CHECK (open_sessions >= 0)
) WITH (fillfactor = 70);
CREATE INDEX instances_stranded ON instances (region, id) WHERE stranded;
CREATE INDEX instances_gone ON instances (region, ended_at) WHERE status = 'gone';

-- No index but the primary key: each heartbeat updates a row, and is a HOT update because no indexed column changes.
CREATE TABLE instance_leases (
    region       text NOT NULL,
    instance_id  text NOT NULL,
    incarnation  uuid NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    load         double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (region, instance_id),
    FOREIGN KEY (region, instance_id) REFERENCES instances ON DELETE CASCADE
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Finds the least loaded instances for a new session without sorting the fleet. Heartbeats write load_bucket, reservations
-- write share_bucket (99: full or draining), each only when it changes.
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
-- Columns compared for equality first, then the fullest session first: a scan that fills sessions reads no other rows.
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
    expires_at       timestamptz,       -- when the seat is freed if the player has not connected
    jti              text,              -- the token the player connected with
    PRIMARY KEY (region, session_id, sub),
    FOREIGN KEY (region, session_id) REFERENCES sessions,
    CONSTRAINT a_seat_is_reserved_or_connected CHECK (state IN ('reserved', 'connected')),
    CONSTRAINT a_reserved_seat_ends_some_day CHECK (state = 'connected' OR expires_at IS NOT NULL)
);
CREATE UNIQUE INDEX a_player_waits_for_one_seat_per_mode ON seats (region, mode, sub) WHERE state = 'reserved';
CREATE INDEX seats_of_player ON seats (region, sub);
CREATE INDEX seats_reserved_by ON seats (region, reserved_by) WHERE state = 'reserved';
CREATE INDEX seats_by_expiry ON seats (expires_at) WHERE state = 'reserved'; -- region is not first: it would attract unrelated queries

-- Redeemed token ids, kept until no token with that id can be valid.
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

-- lead and overlap are those of the key policy when the key was made. With them the constraints guarantee that verifiers can
-- fetch a key before it signs, and until its last token has expired.
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

-- History: append-only, a partition for each day, dropped whole. Rows of days without a partition go to the default one.
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

-- tx gives readers an order without gaps: no more rows with a tx below pg_snapshot_xmin can appear.
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

-- A lease has expired when its last heartbeat is at or before the horizon. The horizon stops while no replica sets pulse_at, so
-- that no lease expires while heartbeats cannot be received. After such a gap, or a restart of Postgres, there is an amnesty
-- (-infinity) until heartbeats could be received for one full lease. Call it as (SELECT lease_horizon()).
-- +goose StatementBegin
CREATE FUNCTION lease_horizon() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN pulse_at > pg_postmaster_start_time() AND steady_since <= statement_timestamp() - lease_ttl
        THEN least(statement_timestamp(), pulse_at + lease_ttl / 5) - lease_ttl
        ELSE '-infinity' END
    FROM fleet_clock
$$;
-- +goose StatementEnd

-- Sessions whose instance still has the incarnation that opened them, and a live lease. Resolve and rejoin read these.
CREATE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       i.endpoint, i.status AS instance_status, i.reports_seats
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id AND l.heartbeat_at > (SELECT lease_horizon());

-- Live sessions that take new players.
CREATE VIEW fillable_sessions AS
SELECT * FROM live_sessions WHERE player_count < max_players AND instance_status = 'ready';

-- Instances on which a new session of a mode may be opened if it fits into free_seats.
CREATE VIEW open_hosts AS
SELECT m.region, m.mode, m.bucket, i.id, l.load, i.reserved_seats, i.capacity, i.capacity - i.reserved_seats AS free_seats
FROM instance_modes m
JOIN instances i ON i.region = m.region AND i.id = m.instance_id AND i.status = 'ready' AND i.reserved_seats < i.capacity
     AND (i.max_sessions IS NULL OR i.open_sessions < i.max_sessions)
JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id AND l.heartbeat_at > (SELECT lease_horizon())
WHERE m.bucket < 99;

-- 0 to 8 for a load up to 1, then a bucket for each doubling: a load may be a share or a count.
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

-- Sets share_bucket. Call it in the transaction that changed the instances, after the change and under their locks.
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

-- Closes sessions: moves them and their seats to history, and frees their reservations on the instances.
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

-- Closes the sessions of an instance's ended incarnations that are not locked. It does not wait for the others: the caller has
-- locked the instance, and sessions come before instances in the lock order. It marks the instance as stranded when some are
-- left, and the reaper closes them later.
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

-- Ends an instance: deletes its lease and its modes, and closes its sessions for the reason. The caller has locked its row.
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

-- Analyzes hot tables that have grown by half since they were analyzed last. Autovacuum, once a minute, is too late for a new
-- installation: without statistics the planner takes region for selective, and sessions keep such a plan.
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

-- Makes the day partitions of a history table from today to p_ahead days later, except for days of which the default
-- partition has rows.
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

-- Drops the day partitions that ended before the given time, oldest first. (Postgres refuses DETACH CONCURRENTLY beside a
-- default partition, so lock_timeout bounds the exclusive lock instead.)
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
