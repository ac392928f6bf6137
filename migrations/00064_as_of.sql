-- What was true at a time: of sessions and seats by their history, of game servers and signing keys by the states that they had before.
--
-- Sessions and seats have all that is needed: when they began, connected and ended. What a game server or a key is now was overwritten with each
-- change, so triggers keep the state before. They run for statements that set one of the columns, which are registrations, drains and rotations;
-- placement, heartbeats and seat reports set none of them. Triggers see what each release writes, so an upgrade makes no gap.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- since: when the row became as it is, by the clock and not by the begin of the transaction, which may have waited for the one before it.
ALTER TABLE instances ADD COLUMN since timestamptz NOT NULL DEFAULT now();
ALTER TABLE signing_keys ADD COLUMN since timestamptz NOT NULL DEFAULT now();
ALTER TABLE instances ALTER COLUMN since SET DEFAULT clock_timestamp();
ALTER TABLE signing_keys ALTER COLUMN since SET DEFAULT clock_timestamp();

CREATE TABLE instance_history (
    region        text NOT NULL,
    id            text NOT NULL,
    incarnation   uuid NOT NULL,
    status        text NOT NULL,
    endpoint      text NOT NULL,
    modes         text[] NOT NULL,
    labels        jsonb NOT NULL,
    version       text,
    capacity      integer NOT NULL,
    max_sessions  integer,
    registered_at timestamptz NOT NULL,
    since         timestamptz NOT NULL,
    until         timestamptz NOT NULL
);
CREATE INDEX instance_history_by_end ON instance_history (until);

CREATE TABLE key_history (
    kid          text NOT NULL,
    alg          text NOT NULL,
    publish_at   timestamptz NOT NULL,
    sign_from    timestamptz NOT NULL,
    sign_until   timestamptz NOT NULL,
    verify_until timestamptz NOT NULL,
    tainted_at   timestamptz,
    since        timestamptz NOT NULL,
    until        timestamptz NOT NULL
);
CREATE INDEX key_history_by_end ON key_history (until);

-- From when on the two tables are complete.
CREATE TABLE history_starts (
    history text PRIMARY KEY,
    since   timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO history_starts (history) VALUES ('instance_history'), ('key_history');

-- It runs after the trigger that may change the status, whose name sorts before its.
-- +goose StatementBegin
CREATE FUNCTION keep_past_instance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    IF (OLD.incarnation, OLD.status, OLD.endpoint, OLD.modes, OLD.labels, OLD.version, OLD.capacity, OLD.max_sessions)
       IS NOT DISTINCT FROM (NEW.incarnation, NEW.status, NEW.endpoint, NEW.modes, NEW.labels, NEW.version, NEW.capacity, NEW.max_sessions) THEN
        RETURN NEW;
    END IF;
    IF OLD.status <> 'gone' THEN
        INSERT INTO instance_history (region, id, incarnation, status, endpoint, modes, labels, version, capacity, max_sessions, registered_at, since, until)
        VALUES (OLD.region, OLD.id, OLD.incarnation, OLD.status, OLD.endpoint, OLD.modes, OLD.labels, OLD.version, OLD.capacity, OLD.max_sessions,
            OLD.registered_at, OLD.since, moment);
    END IF;
    NEW.since := moment;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER past_instances_are_kept BEFORE UPDATE OF incarnation, status, endpoint, modes, labels, version, capacity, max_sessions ON instances
    FOR EACH ROW EXECUTE FUNCTION keep_past_instance();

-- +goose StatementBegin
CREATE FUNCTION keep_past_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.publish_at, OLD.sign_from, OLD.sign_until, OLD.verify_until, OLD.tainted_at)
       IS NOT DISTINCT FROM (NEW.publish_at, NEW.sign_from, NEW.sign_until, NEW.verify_until, NEW.tainted_at) THEN
        RETURN NEW;
    END IF;
    INSERT INTO key_history (kid, alg, publish_at, sign_from, sign_until, verify_until, tainted_at, since, until)
    VALUES (OLD.kid, OLD.alg, OLD.publish_at, OLD.sign_from, OLD.sign_until, OLD.verify_until, OLD.tainted_at, OLD.since, moment);
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    NEW.since := moment;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER past_keys_are_kept BEFORE DELETE OR UPDATE OF publish_at, sign_from, sign_until, verify_until, tainted_at ON signing_keys
    FOR EACH ROW EXECUTE FUNCTION keep_past_key();

-- The oldest time that can be asked for: of sessions and seats the first day whose history is not dropped.
CREATE VIEW ops.history_starts AS
SELECT w.what, w.since FROM (
    SELECT 'fleet' AS what, (SELECT h.since FROM history_starts h WHERE h.history = 'instance_history') AS since
    UNION ALL SELECT 'sessions', (SELECT midnight(min(p.first_day)) FROM history_partitions('session_history') p)
    UNION ALL SELECT 'seats', (SELECT midnight(min(p.first_day)) FROM history_partitions('seat_history') p)
    UNION ALL SELECT 'keys', (SELECT h.since FROM history_starts h WHERE h.history = 'key_history')) w;
COMMENT ON VIEW ops.history_starts IS 'The oldest times for which ops.at, ops.fleet_at, ops.sessions_at, ops.seats_at and ops.keys_at know what was true.';
COMMENT ON COLUMN ops.history_starts.what IS 'fleet, sessions, seats or keys.';
COMMENT ON COLUMN ops.history_starts.since IS 'The oldest time.';

-- +goose StatementBegin
CREATE FUNCTION check_past(p_what text, p_at timestamptz) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    begins timestamptz;
BEGIN
    SELECT h.since INTO begins FROM ops.history_starts h WHERE h.what = p_what;
    IF p_at IS NULL OR p_at > clock_timestamp() THEN
        RAISE EXCEPTION 'the time must not be in the future, and is %', coalesce(to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF begins IS NULL OR p_at < begins THEN
        RAISE EXCEPTION 'what was true of % at % is not known: the oldest time that is, is %', p_what,
            to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), coalesce(to_char(begins AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'not there yet')
            USING ERRCODE = 'invalid_parameter_value', HINT = 'View ops.history_starts has the oldest time of each.';
    END IF;
END
$$;
-- +goose StatementEnd

-- A seat or session is in its table or in history, whichever the snapshot shows, and counts from its begin up to, but not at, its end.
CREATE FUNCTION past_seats(p_at timestamptz) RETURNS TABLE (region text, session_id uuid, sub text, mode text, state text, party uuid, reserved_by text,
    reserved_at timestamptz, connected_at timestamptz, left_at timestamptz, match_id uuid, team text) LANGUAGE sql STABLE AS $$
    SELECT s.region, s.session_id, s.sub, s.mode, CASE WHEN s.connected_at <= p_at THEN 'connected' ELSE 'reserved' END, s.party, s.reserved_by, s.reserved_at,
           CASE WHEN s.connected_at <= p_at THEN s.connected_at END, NULL, s.match_id, s.team
    FROM seats s WHERE s.reserved_at <= p_at
    UNION ALL
    SELECT h.region, h.session_id, h.sub, h.mode, CASE WHEN h.connected_at <= p_at THEN 'connected' ELSE 'reserved' END, h.party, h.reserved_by, h.reserved_at,
           CASE WHEN h.connected_at <= p_at THEN h.connected_at END, h.left_at, h.match_id, h.team
    FROM seat_history h WHERE h.left_at > p_at AND h.reserved_at <= p_at
$$;

CREATE FUNCTION past_sessions(p_at timestamptz) RETURNS TABLE (region text, id uuid, mode text, instance_id text, incarnation uuid, max_players integer,
    opened_at timestamptz, closed_at timestamptz, match_id uuid) LANGUAGE sql STABLE AS $$
    SELECT s.region, s.id, s.mode, s.instance_id, s.incarnation, s.max_players, s.opened_at, NULL::timestamptz, s.match_id FROM sessions s WHERE s.opened_at <= p_at
    UNION ALL
    SELECT h.region, h.id, h.mode, h.instance_id, h.incarnation, h.max_players, h.opened_at, h.closed_at, h.match_id
    FROM session_history h WHERE h.closed_at > p_at AND h.opened_at <= p_at
$$;

-- +goose StatementBegin
CREATE FUNCTION ops.sessions_at(at timestamptz) RETURNS TABLE (region text, session text, mode text, instance text, players integer, connected integer,
    max_players integer, opened_at timestamptz, closed_at timestamptz, id uuid, match uuid) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_past('sessions', sessions_at.at);
    RETURN QUERY
    SELECT s.region, s.region || '.' || s.id, s.mode, s.instance_id, coalesce(n.players, 0)::integer, coalesce(n.connected, 0)::integer, s.max_players, s.opened_at,
           s.closed_at, s.id, s.match_id
    FROM past_sessions(sessions_at.at) s LEFT JOIN (
        SELECT t.region, t.session_id, count(*) AS players, count(*) FILTER (WHERE t.state = 'connected') AS connected
        FROM past_seats(sessions_at.at) t GROUP BY t.region, t.session_id) n ON n.region = s.region AND n.session_id = s.id;
END
$$;

CREATE FUNCTION ops.seats_at(at timestamptz) RETURNS TABLE (region text, session text, instance text, mode text, player text, state text, party uuid,
    reserved_by text, reserved_at timestamptz, connected_at timestamptz, left_at timestamptz, session_id uuid, match uuid, team text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_past('seats', seats_at.at);
    RETURN QUERY
    SELECT t.region, t.region || '.' || t.session_id, s.instance_id, t.mode, t.sub, t.state, t.party, t.reserved_by, t.reserved_at, t.connected_at, t.left_at,
           t.session_id, t.match_id, t.team
    FROM past_seats(seats_at.at) t LEFT JOIN past_sessions(seats_at.at) s ON s.region = t.region AND s.id = t.session_id;
END
$$;

CREATE FUNCTION ops.fleet_at(at timestamptz) RETURNS TABLE (region text, instance text, endpoint text, status text, modes text[], labels jsonb, version text,
    capacity integer, max_sessions integer, sessions integer, players integer, reserved_seats integer, incarnation uuid, registered_at timestamptz, since timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_past('fleet', fleet_at.at);
    RETURN QUERY
    SELECT i.region, i.id, i.endpoint, i.status, i.modes, i.labels, i.version, i.capacity, i.max_sessions, coalesce(n.sessions, 0)::integer,
           coalesce(n.players, 0)::integer, coalesce(n.reserved, 0)::integer, i.incarnation, i.registered_at, i.since
    FROM (
        SELECT o.region, o.id, o.incarnation, o.status, o.endpoint, o.modes, o.labels, o.version, o.capacity, o.max_sessions, o.registered_at, o.since
        FROM instances o WHERE o.since <= fleet_at.at AND o.status <> 'gone'
        UNION ALL
        SELECT h.region, h.id, h.incarnation, h.status, h.endpoint, h.modes, h.labels, h.version, h.capacity, h.max_sessions, h.registered_at, h.since
        FROM instance_history h WHERE h.until > fleet_at.at AND h.since <= fleet_at.at) i
    LEFT JOIN (
        SELECT s.region, s.instance_id, count(*) AS sessions, sum(s.max_players) AS reserved, sum(p.players) AS players
        FROM past_sessions(fleet_at.at) s LEFT JOIN (
            SELECT t.region, t.session_id, count(*) AS players FROM past_seats(fleet_at.at) t GROUP BY t.region, t.session_id) p
            ON p.region = s.region AND p.session_id = s.id
        GROUP BY s.region, s.instance_id) n ON n.region = i.region AND n.instance_id = i.id;
END
$$;

CREATE FUNCTION ops.keys_at(at timestamptz) RETURNS TABLE (kid text, alg text, state text, publish_at timestamptz, sign_from timestamptz, sign_until timestamptz,
    verify_until timestamptz, tainted_at timestamptz) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_past('keys', keys_at.at);
    RETURN QUERY
    SELECT k.kid, k.alg, CASE WHEN k.tainted_at IS NOT NULL THEN 'tainted' WHEN keys_at.at < k.sign_from THEN 'next' WHEN keys_at.at < k.sign_until THEN 'signing'
           WHEN keys_at.at < k.verify_until THEN 'retiring' ELSE 'expired' END, k.publish_at, k.sign_from, k.sign_until, k.verify_until, k.tainted_at
    FROM (
        SELECT o.kid, o.alg, o.publish_at, o.sign_from, o.sign_until, o.verify_until, o.tainted_at FROM signing_keys o WHERE o.since <= keys_at.at
        UNION ALL
        SELECT h.kid, h.alg, h.publish_at, h.sign_from, h.sign_until, h.verify_until, h.tainted_at FROM key_history h
        WHERE h.until > keys_at.at AND h.since <= keys_at.at) k;
END
$$;

CREATE FUNCTION ops.at(at timestamptz) RETURNS TABLE (what text, region text, id text, detail jsonb) LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
    SELECT 'fleet', f.region, f.instance, to_jsonb(f) - 'region' - 'instance' FROM ops.fleet_at($1) f
    UNION ALL SELECT 'sessions', s.region, s.session, to_jsonb(s) - 'region' - 'session' FROM ops.sessions_at($1) s
    UNION ALL SELECT 'seats', t.region, t.session || ' ' || t.player, to_jsonb(t) - 'region' FROM ops.seats_at($1) t
    UNION ALL SELECT 'keys', '', k.kid, to_jsonb(k) - 'kid' FROM ops.keys_at($1) k
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.at(timestamptz) IS 'What was true at a time: game servers, sessions, seats and keys, a row each. ops.fleet_at, ops.sessions_at, ops.seats_at and ops.keys_at return one of them, with columns; ops.history_starts says since when each is known. Not known are heartbeats and load, tickets, parties and rooms of the lobby.';
COMMENT ON FUNCTION ops.fleet_at(timestamptz) IS 'The game servers that had not ended at a time, with what they offered and how full they were. Not known: heartbeats, load, and whether a lease had expired that no worker had noticed.';
COMMENT ON FUNCTION ops.sessions_at(timestamptz) IS 'The sessions that were open at a time, with their seats. Exact up to the length of a transaction, some milliseconds.';
COMMENT ON FUNCTION ops.seats_at(timestamptz) IS 'The seats that were taken at a time. Not known: whether their players had fetched a token, and when they would have expired.';
COMMENT ON FUNCTION ops.keys_at(timestamptz) IS 'The signing keys at a time, as ops.keys would have shown them.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP FUNCTION ops.at(timestamptz);
DROP FUNCTION ops.keys_at(timestamptz);
DROP FUNCTION ops.fleet_at(timestamptz);
DROP FUNCTION ops.seats_at(timestamptz);
DROP FUNCTION ops.sessions_at(timestamptz);
DROP FUNCTION past_sessions(timestamptz);
DROP FUNCTION past_seats(timestamptz);
DROP FUNCTION check_past(text, timestamptz);
DROP VIEW ops.history_starts;
DROP TRIGGER past_keys_are_kept ON signing_keys;
DROP TRIGGER past_instances_are_kept ON instances;
DROP FUNCTION keep_past_key();
DROP FUNCTION keep_past_instance();
DROP TABLE history_starts, key_history, instance_history;
ALTER TABLE instances DROP COLUMN since;
ALTER TABLE signing_keys DROP COLUMN since;
