-- The director loop: profiles that say how tickets become matches, matches whose players are seated in the same transaction,
-- and what players and operators may ask about them afterwards.
--
-- Tickets, ticket_players, ticket_events, profiles, proposed matches and demand are of the region that is their queue, the
-- "universe". Sessions, seats and playing matches are of a game region. A transaction touches one universe and one game region.
--
-- Locks are taken in this order over all tables, in a table by primary key. It contains the orders of 00001 and 00006:
--   match_cycles → backfills → profile_owners → tickets → ticket_players → matches that do not play → player and opener
--   locks → sessions (which lock their seats and their playing match) → instances → instance_leases → instance_modes →
--   demand → settled_tickets → backfill_tickets → match_proposals → inserts.
-- Locks on players are only tried, never waited for. Placement locks no ticket, and a cycle locks no session.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
SET LOCAL lock_timeout = '3s'; -- behind a long reader everybody else would wait as well: then try again

-- A profile has any number of versions, which never change. The live one decides, the shadow one only reports what it would
-- have decided.
CREATE TABLE profiles (
    region     text NOT NULL,
    name       text COLLATE "C" NOT NULL,
    live       integer NOT NULL,
    shadow     integer,
    retired_at timestamptz,
    PRIMARY KEY (region, name),
    CONSTRAINT a_profile_name_is_short CHECK (name ~ '^[a-z0-9-]{1,64}$'),
    CONSTRAINT a_profile_version_counts_from_1 CHECK (live >= 1 AND shadow >= 1)
);
CREATE TABLE profile_versions (
    region     text NOT NULL,
    name       text COLLATE "C" NOT NULL,
    version    integer NOT NULL,
    document   text NOT NULL,             -- as its author wrote it
    canonical  bytea NOT NULL,            -- equal for documents that mean the same
    author     text NOT NULL,
    reason     text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, name, version),
    FOREIGN KEY (region, name) REFERENCES profiles DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT a_profile_fits_in_64_kib CHECK (octet_length(document) <= 65536)
);

-- Workers that run the loop. Each renews its row four times within its lease.
CREATE UNLOGGED TABLE loop_workers (
    id          uuid PRIMARY KEY,
    lease_until timestamptz NOT NULL,
    weight      integer NOT NULL DEFAULT 0 -- candidates and profiles
) WITH (fillfactor = 50);

-- One worker decides for a profile. The row is written when the profile changes hands, and at no other time; epoch counts
-- that, so that a former owner's commit fails.
CREATE TABLE profile_owners (
    region   text NOT NULL,
    profile  text COLLATE "C" NOT NULL,
    worker   uuid NOT NULL,
    epoch    bigint NOT NULL DEFAULT 1,
    owned_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, profile)
) WITH (fillfactor = 50);

-- paused_at: a paused ticket is no candidate. version counts the ticket's states that players were shown. tx is the
-- transaction that made the ticket a candidate or stopped it from being one; a match that is only proposed leaves it alone. A
-- column that is added with a volatile default would be rewritten, so the default follows, and older rows have none. ends_at is
-- when a ticket of our API expires at the latest, however often it is kept alive; others have none.
ALTER TABLE tickets ADD COLUMN paused_at timestamptz, ADD COLUMN version integer NOT NULL DEFAULT 1, ADD COLUMN tx xid8, ADD COLUMN ends_at timestamptz;
ALTER TABLE tickets ALTER COLUMN tx SET DEFAULT pg_current_xact_id();

-- A player waits once for each profile. A row whose ticket is gone is replaced by the player's next ticket, and swept.
CREATE TABLE ticket_players (
    region       text NOT NULL,
    sub          text COLLATE "C" NOT NULL,
    profile      text COLLATE "C" NOT NULL,
    ticket_id    text COLLATE "C" NOT NULL,
    request_hash bytea NOT NULL,          -- of the request that made the ticket
    joined_at    timestamptz NOT NULL DEFAULT now(),
    seen_at      timestamptz,             -- when the player read or accepted the ticket itself
    PRIMARY KEY (region, sub, profile)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE ticket_players ALTER COLUMN region SET (n_distinct = 1);
-- Indexes that do not begin with the region: those that do attract lookups by other keys, planned while the table was empty.
CREATE INDEX players_of_ticket ON ticket_players (ticket_id);

-- What became of a ticket, state by state: n is tickets.version. The party is kept with the last state, so that its members can
-- still ask once the ticket is gone.
CREATE TABLE ticket_events (
    region    text NOT NULL,
    ticket_id text COLLATE "C" NOT NULL,
    n         integer NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    tx        xid8 NOT NULL DEFAULT pg_current_xact_id(),
    state     text NOT NULL,
    reason    text,
    match_id  uuid,
    detail    jsonb NOT NULL DEFAULT '{}',  -- of an assignment: session_handle, endpoint, region, teams by player
    party     text[],
    PRIMARY KEY (region, ticket_id, n, at),
    CONSTRAINT a_ticket_event_is_a_state CHECK (state IN ('queued', 'paused', 'matched', 'accepting', 'waiting_for_server',
        'assigned', 'declined', 'cancelled', 'expired')),
    CONSTRAINT a_final_state_keeps_the_party CHECK (party IS NOT NULL OR state NOT IN ('assigned', 'declined', 'cancelled', 'expired'))
) PARTITION BY RANGE (at);
CREATE INDEX ticket_events_in_commit_order ON ticket_events (tx);
CREATE TABLE ticket_events_default PARTITION OF ticket_events DEFAULT;

-- Matches that are proposed (a ready check is under way until the deadline), accepted (they wait for a server, until the deadline
-- unless their worker renews it) or playing. The row of a playing match belongs to its session, whose lock is its lock, and has
-- the session's region; others have the universe as region.
CREATE TABLE matches (
    region     text NOT NULL,
    id         uuid NOT NULL,
    universe   text NOT NULL,
    profile    text COLLATE "C" NOT NULL,
    version    integer NOT NULL,
    state      text NOT NULL,
    session_id uuid,
    deadline   timestamptz,
    chosen     jsonb NOT NULL DEFAULT '{}', -- values of "common" rules, for the game server
    roster     jsonb NOT NULL,              -- players: sub, team, role, ticket, and the attributes that the profile tells
    data       jsonb,
    tickets    text[] NOT NULL,
    decision   jsonb,                       -- while it does not play: all of it, for the worker that commits it
    decided_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, id),
    CONSTRAINT a_match_is_proposed_accepted_or_playing CHECK (state IN ('proposed', 'accepted', 'playing')),
    CONSTRAINT a_playing_match_has_a_session CHECK ((state = 'playing') = (session_id IS NOT NULL)),
    CONSTRAINT a_proposed_match_has_a_deadline CHECK ((state = 'playing') = (deadline IS NULL)),
    CONSTRAINT a_proposed_match_knows_its_decision CHECK ((state = 'playing') = (decision IS NULL)),
    CONSTRAINT a_roster_fits_in_64_kib CHECK (octet_length(roster::text) <= 65536)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE matches ALTER COLUMN region SET (n_distinct = 1);
CREATE UNIQUE INDEX a_session_is_of_one_match ON matches (region, session_id) WHERE state = 'playing';
CREATE INDEX matches_to_accept ON matches (deadline) WHERE state <> 'playing';
CREATE INDEX matches_of_profile ON matches (universe, profile, decided_at);

CREATE TABLE match_accepts (
    region   text NOT NULL,
    match_id uuid NOT NULL,
    sub      text COLLATE "C" NOT NULL,
    accepted boolean NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, match_id, sub)
);

-- Every match that was committed, with what explains and repeats the decision.
CREATE TABLE match_history (
    region      text NOT NULL,
    id          uuid NOT NULL,
    profile     text NOT NULL,
    version     integer NOT NULL,
    epoch       bigint NOT NULL,
    seed        bigint NOT NULL,
    game_region text,
    mode        text,
    session_id  uuid,
    joined      boolean NOT NULL DEFAULT false, -- newcomers of a match that played already
    tickets     text[] NOT NULL,
    players     integer NOT NULL,
    why         jsonb NOT NULL,
    decided_at  timestamptz NOT NULL,
    committed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, id, committed_at),
    CONSTRAINT an_explanation_fits_in_4_kib CHECK (octet_length(why::text) <= 8192) -- jsonb as text has spaces
) PARTITION BY RANGE (committed_at);
CREATE INDEX match_history_of_profile ON match_history (region, profile, committed_at);
CREATE INDEX match_history_of_session ON match_history (region, session_id);
CREATE INDEX match_history_by_time ON match_history USING brin (committed_at);
CREATE TABLE match_history_default PARTITION OF match_history DEFAULT;

-- A row for each ticket, written when it leaves the queue.
CREATE TABLE ticket_history (
    region     text NOT NULL,
    id         text COLLATE "C" NOT NULL,
    created    timestamptz NOT NULL,
    seen_at    timestamptz,             -- when a worker first had it as a candidate
    left_at    timestamptz NOT NULL DEFAULT now(),
    profiles   text[] NOT NULL,
    party      text[] NOT NULL,         -- hashed where attributes are
    attributes jsonb,
    latencies  jsonb,
    outcome    text NOT NULL,
    profile    text,                    -- that matched it
    match_id   uuid,
    PRIMARY KEY (region, id, left_at)
) PARTITION BY RANGE (left_at);
CREATE INDEX ticket_history_by_creation ON ticket_history (region, created);
CREATE TABLE ticket_history_default PARTITION OF ticket_history DEFAULT;

-- Servers that matches wait for. A row leaves when nobody waits.
CREATE TABLE demand (
    region     text NOT NULL,           -- a game region
    mode       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL, -- the profile and the size of its sessions
    matches    integer NOT NULL,
    players    integer NOT NULL,
    since      timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, mode, key),
    CONSTRAINT demand_is_of_somebody CHECK (matches >= 1 AND players >= 1)
) WITH (fillfactor = 50);

-- How long tickets of a profile waited of late, by tenths of the profile's first number. Workers know it anew after a crash.
CREATE UNLOGGED TABLE profile_stats (
    region     text NOT NULL,
    profile    text COLLATE "C" NOT NULL,
    decile     smallint NOT NULL,
    upto       float8 NOT NULL,
    p50        interval NOT NULL,
    p90        interval NOT NULL,
    samples    integer NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (region, profile, decile)
);

-- Sessions of a match take no other players: open_sessions and fillable_sessions leave them out, for older replicas as well.
ALTER TABLE sessions ADD COLUMN match_id uuid;
ALTER TABLE seats ADD COLUMN match_id uuid, ADD COLUMN team text,
    ADD CONSTRAINT a_team_belongs_to_a_match CHECK (team IS NULL OR match_id IS NOT NULL) NOT VALID;
ALTER TABLE session_history ADD COLUMN match_id uuid;
ALTER TABLE seat_history ADD COLUMN match_id uuid, ADD COLUMN team text;

CREATE OR REPLACE VIEW open_sessions AS
SELECT s.region, s.id, s.mode, s.player_count, s.max_players, (
    SELECT i.incarnation = s.incarnation AND i.status = 'ready' AND l.heartbeat_at > (SELECT lease_horizon())
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id) AS takes_players
FROM sessions s WHERE s.match_id IS NULL;

DROP VIEW fillable_sessions;
CREATE OR REPLACE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       h.endpoint, h.status AS instance_status, h.reports_seats, s.match_id
FROM sessions s CROSS JOIN LATERAL (
    SELECT i.endpoint, i.status, i.reports_seats
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      AND l.heartbeat_at > (SELECT lease_horizon())
    LIMIT 1) h;
CREATE VIEW fillable_sessions AS
SELECT * FROM live_sessions WHERE player_count < max_players AND instance_status = 'ready' AND match_id IS NULL;

-- As in 00001, and the rows of matches that end with their sessions.
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

CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals', 'ticket_players', 'matches', 'match_accepts', 'demand']::regclass[]
$$;

-- As in 00014, for these tables as well. The last day of the days without a gap from today on is the day before today, or the last one of a
-- partition, after which no partition begins: few days to look at, where 00014 tried a thousand.
CREATE OR REPLACE VIEW ops.partitions AS
SELECT t.relname AS table_name, coalesce(sum(h.last_day - h.first_day + 1), 0)::bigint AS days, min(h.first_day) AS first_day, max(h.last_day) AS last_day,
       (SELECT min(e.day) - (statement_timestamp() AT TIME ZONE 'UTC')::date FROM (
            SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date - 1 AS day
            UNION SELECT c.last_day FROM history_partitions(t.oid) c WHERE c.last_day >= (statement_timestamp() AT TIME ZONE 'UTC')::date) e
        WHERE NOT EXISTS (SELECT FROM history_partitions(t.oid) o WHERE e.day + 1 BETWEEN o.first_day AND o.last_day)) AS days_ahead,
       coalesce(pg_relation_size(p.partdefid), 0)::bigint AS default_bytes
FROM pg_catalog.pg_class t
JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = t.oid
LEFT JOIN history_partitions(t.oid) h ON true
WHERE t.oid IN ('session_history'::regclass, 'seat_history'::regclass, 'events'::regclass, 'ticket_events'::regclass,
                'match_history'::regclass, 'ticket_history'::regclass)
GROUP BY t.oid, t.relname, p.partdefid;

SELECT ensure_day_partitions(t, 7) FROM unnest(ARRAY['ticket_events', 'match_history', 'ticket_history']) t, generate_series(0, 7); -- a day a call

-- As in 00015, and with the events of tickets, which are a feed as well.
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

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW fillable_sessions;
CREATE OR REPLACE VIEW open_sessions AS
SELECT s.region, s.id, s.mode, s.player_count, s.max_players, (
    SELECT i.incarnation = s.incarnation AND i.status = 'ready' AND l.heartbeat_at > (SELECT lease_horizon())
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id) AS takes_players
FROM sessions s;
DROP VIEW live_sessions;
CREATE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       h.endpoint, h.status AS instance_status, h.reports_seats
FROM sessions s CROSS JOIN LATERAL (
    SELECT i.endpoint, i.status, i.reports_seats
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      AND l.heartbeat_at > (SELECT lease_horizon())
    LIMIT 1) h;
CREATE VIEW fillable_sessions AS
SELECT * FROM live_sessions WHERE player_count < max_players AND instance_status = 'ready';
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
CREATE OR REPLACE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys', 'tickets', 'settled_tickets', 'backfills', 'backfill_tickets', 'match_cycles', 'match_callers',
                 'match_proposals']::regclass[]
$$;
CREATE OR REPLACE VIEW ops.partitions AS
SELECT t.relname AS table_name, coalesce(sum(h.last_day - h.first_day + 1), 0)::bigint AS days, min(h.first_day) AS first_day, max(h.last_day) AS last_day,
       (SELECT min(n) - 1 FROM generate_series(0, 1000) n WHERE NOT EXISTS (SELECT FROM history_partitions(t.oid) c
           WHERE (statement_timestamp() AT TIME ZONE 'UTC')::date + n BETWEEN c.first_day AND c.last_day)) AS days_ahead,
       coalesce(pg_relation_size(p.partdefid), 0)::bigint AS default_bytes
FROM pg_catalog.pg_class t
JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = t.oid
LEFT JOIN history_partitions(t.oid) h ON true
WHERE t.oid IN ('session_history'::regclass, 'seat_history'::regclass, 'events'::regclass)
GROUP BY t.oid, t.relname, p.partdefid;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION restored_from_dump() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    future xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    RETURN coalesce((SELECT e.tx FROM events e ORDER BY e.tx DESC, e.id DESC LIMIT 1) >= future, false)
        OR EXISTS (SELECT FROM ticket_regions() r(region) WHERE
            (SELECT s.tx FROM settled_tickets s WHERE s.region = r.region ORDER BY s.tx DESC LIMIT 1) >= future);
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE renew_restored_transactions() LANGUAGE plpgsql AS $$
DECLARE
    base bigint;
BEGIN
    PERFORM pg_advisory_lock(hashtext('director.restored')); -- the session's, so that it outlasts COMMIT
    IF restored_from_dump() THEN
        base := pg_current_xact_id()::text::bigint;
        WITH old AS (
            SELECT d.tx, row_number() OVER (ORDER BY d.tx) AS n
            FROM (SELECT DISTINCT e.tx FROM events e WHERE e.tx >= pg_snapshot_xmax(pg_current_snapshot())) d
        )
        UPDATE events e SET tx = (base + o.n)::text::xid8 FROM old o WHERE e.tx = o.tx;
        WITH old AS (
            SELECT d.tx, row_number() OVER (ORDER BY d.tx) AS n
            FROM (SELECT DISTINCT s.tx FROM settled_tickets s WHERE s.tx >= pg_snapshot_xmax(pg_current_snapshot())) d
        )
        UPDATE settled_tickets s SET tx = (base + o.n)::text::xid8 FROM old o WHERE s.tx = o.tx;
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
ALTER TABLE seat_history DROP COLUMN match_id, DROP COLUMN team;
ALTER TABLE session_history DROP COLUMN match_id;
ALTER TABLE seats DROP COLUMN match_id, DROP COLUMN team;
ALTER TABLE sessions DROP COLUMN match_id;
ALTER TABLE tickets DROP COLUMN paused_at, DROP COLUMN version, DROP COLUMN tx, DROP COLUMN ends_at;
DROP TABLE profile_stats, demand, ticket_history, match_history, match_accepts, matches, ticket_events, ticket_players, profile_owners,
    loop_workers, profile_versions, profiles;
