-- What operators steer and see since the console has plots and actions for pauses: pools and profiles that are paused by functions of schema
-- ops, the measures of the last hours, the processes that are connected, and a view of the quality of matches whose cost is bounded.
--
-- Older workers ignore the pause of a profile: it holds once all workers are of this release.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- A paused profile keeps its tickets and its owner, and makes no matches.
ALTER TABLE profiles ADD COLUMN paused_at timestamptz, ADD COLUMN pause_reason text;

-- Measures of the director for plots, a row for each minute in which a worker ran. What they measure is not kept anywhere else: game servers
-- and their seats are known as of now. Workers delete what is older than six hours. minute is first: the table is written and deleted
-- by the minute, and has some hundred rows for each.
CREATE TABLE minute_samples (
    minute  timestamptz NOT NULL,
    region  text NOT NULL,               -- empty: of the whole installation
    measure text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,   -- what it is a measure of: a state, a profile; empty: there is one
    value   double precision NOT NULL,
    PRIMARY KEY (minute, region, measure, subject)
);

CREATE VIEW ops.minute_samples AS
SELECT minute, region, measure, subject, value FROM minute_samples;
COMMENT ON VIEW ops.minute_samples IS 'Measures of the last six hours, by minute. Minutes in which no worker ran have no row.';
COMMENT ON COLUMN ops.minute_samples.minute IS 'The minute at whose beginning it was measured, about; of matches, the minute in which they were committed.';
COMMENT ON COLUMN ops.minute_samples.region IS 'The region; of tickets and matches, the universe; empty: the whole installation.';
COMMENT ON COLUMN ops.minute_samples.measure IS 'instances: game servers, subject is their state; capacity and reserved: seats of those that are ready; sessions: open ones; tickets and oldest_ticket: how many wait in the queue, and for how many seconds the oldest has; waiting_players: players that wait for a game server; matches: committed in this minute, subject is the profile; late_loops: loops of workers; oldest_snapshot: seconds.';
COMMENT ON COLUMN ops.minute_samples.subject IS 'What it is a measure of, where there are several.';
COMMENT ON COLUMN ops.minute_samples.value IS 'The value.';

-- A process of the director names its connections: see nameConn in db/store_connect.go.
CREATE VIEW ops.processes AS
SELECT a.application_name AS process, coalesce(host(a.client_addr), '') AS address, count(*) AS connections, min(a.backend_start) AS connected_since,
       max(a.state_change) AS last_statement
FROM pg_catalog.pg_stat_activity a
WHERE a.datname = current_database() AND a.application_name LIKE 'director%' AND a.backend_type = 'client backend'
GROUP BY 1, 2;
COMMENT ON VIEW ops.processes IS 'Processes of the director with an open connection to this database, as Postgres sees them. One that has died, or is cut off, is not listed. Behind a pooler, names and addresses are what the pooler sends.';
COMMENT ON COLUMN ops.processes.process IS 'What it does, its host and its process id, as in: director serve host-1/7; what DATABASE_URL names it, if it does.';
COMMENT ON COLUMN ops.processes.address IS 'The address from which it is connected; empty: by a socket of this machine.';
COMMENT ON COLUMN ops.processes.connections IS 'How many connections it has.';
COMMENT ON COLUMN ops.processes.connected_since IS 'Since when the oldest of them is open. A process renews its connections from time to time.';
COMMENT ON COLUMN ops.processes.last_statement IS 'When a statement last began or ended on one of them. NULL where the owner of schema ops may not see it.';

CREATE OR REPLACE VIEW ops.profiles AS
SELECT p.region, p.name AS profile, p.live, p.shadow, p.retired_at,
       CASE WHEN p.retired_at IS NOT NULL THEN 'retired' WHEN p.paused_at IS NOT NULL THEN 'paused' WHEN d.document ? 'function' THEN 'function'
            WHEN w.id IS NOT NULL THEN 'decided' ELSE 'no worker' END AS state,
       CASE WHEN w.id IS NOT NULL THEN o.worker END AS worker, o.epoch, o.owned_at, w.lease_until, p.paused_at, p.pause_reason
FROM profiles p
JOIN profile_versions v ON v.region = p.region AND v.name = p.name AND v.version = p.live
CROSS JOIN LATERAL (SELECT nullif(convert_from(v.canonical, 'UTF8'), '')::jsonb AS document) d
LEFT JOIN profile_owners o ON o.region = p.region AND o.profile = p.name
LEFT JOIN loop_workers w ON w.id = o.worker AND w.lease_until > clock_timestamp();
COMMENT ON COLUMN ops.profiles.paused_at IS 'Since when it makes no matches, by the order of an operator; NULL: it is not paused.';
COMMENT ON COLUMN ops.profiles.pause_reason IS 'Why it is paused.';

CREATE OR REPLACE VIEW ops.deployments AS
SELECT d.region, d.id AS deployment, d.app, d.version, d.provider, d.phase, d.desired, d.origin, d.ref, d.tag, d.location, d.endpoint,
       coalesce(i.open_sessions, 0) AS open_sessions, coalesce(i.reserved_seats, 0) AS reserved_seats,
       statement_timestamp() - d.created_at AS age, d.created_at, d.attempt AS attempts, d.intent_at, d.provider_ready_at, d.registered_at, d.ready_at, d.lost_at, d.drain_at, d.ends_at, d.stop_at,
       d.next_at, d.boots, d.reason, d.last_error, d.claimed_ref
FROM deployments d
LEFT JOIN instances i ON i.region = d.region AND i.id = d.id::text AND i.status <> 'gone';
COMMENT ON COLUMN ops.deployments.claimed_ref IS 'The provider''s name of the server as the server itself gave it when it registered. Where ref is NULL, the deployment adopts it once the provider confirms it.';

-- It reads some matches of each minute and profile by an index, so that its cost does not grow with the rate: 100 in all profiles
-- together, and at least one of each profile.
CREATE OR REPLACE VIEW ops.match_minutes AS
SELECT t.minute, p.region, p.name COLLATE "default" AS profile, k.version, q.measure, count(*) AS matches, avg(q.value) AS mean, max(q.value) AS highest
FROM profiles p
CROSS JOIN (SELECT greatest(1, 100 / greatest(1, count(*))) AS matches FROM profiles) sample
CROSS JOIN generate_series(date_bin('1 minute', statement_timestamp() - interval '1 hour', timestamptz 'epoch'), statement_timestamp(), interval '1 minute') AS t(minute)
CROSS JOIN LATERAL (
    SELECT h.version, h.players, h.why, h.game_region FROM match_history h
    WHERE h.region = p.region AND h.profile = p.name COLLATE "default" AND h.committed_at >= t.minute AND h.committed_at < t.minute + interval '1 minute'
    ORDER BY h.committed_at LIMIT sample.matches) k
CROSS JOIN LATERAL (
    SELECT 'players' AS measure, k.players::float8 AS value
    UNION ALL
    SELECT 'latency_ms', (e ->> 'ms')::float8 FROM jsonb_array_elements(coalesce(k.why -> 'regions', '[]')) e WHERE e ->> 'region' = k.game_region AND e ? 'ms'
    UNION ALL
    SELECT 'rule ' || (e ->> 'rule'), (e ->> 'value')::float8 FROM jsonb_array_elements(coalesce(k.why -> 'rules', '[]')) e WHERE e ->> 'rule' IS NOT NULL) q
WHERE q.value IS NOT NULL
GROUP BY 1, 2, 3, 4, 5;
COMMENT ON VIEW ops.match_minutes IS 'How good the matches of the last hour are, by profile, minute and measure. It reads the first matches of each minute, not all: 100 of one profile, fewer of each where there are several. How many there were is in ops.minute_samples.';
COMMENT ON COLUMN ops.match_minutes.matches IS 'How many of the matches that it reads have this measure.';
COMMENT ON COLUMN ops.match_minutes.mean IS 'The mean of these.';
COMMENT ON COLUMN ops.match_minutes.highest IS 'The highest value of these.';

-- +goose StatementBegin
CREATE FUNCTION ops.pause_pool(region text, app text, version text, reason text DEFAULT '', until timestamptz DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was pools;
    ends timestamptz := least(coalesce(until, '9999-01-01 00:00:00+00'), '9999-01-01 00:00:00+00');
BEGIN
    IF length(pause_pool.reason) > 500 THEN
        RAISE EXCEPTION 'the reason must have at most 500 characters' USING ERRCODE = 'invalid_parameter_value';
    ELSIF ends <= now() THEN
        RAISE EXCEPTION 'the pause must end later than now' USING ERRCODE = 'invalid_parameter_value', HINT = 'ops.resume_pool ends a pause.';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('director.pools'));
    SELECT * INTO was FROM pools p WHERE p.region = pause_pool.region AND p.app = pause_pool.app AND p.version = pause_pool.version FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no pool % of % in region %', coalesce(quote_literal(version), 'NULL'), coalesce(quote_literal(app), 'NULL'),
            coalesce(quote_literal(region), 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF (was.paused_until, coalesce(was.pause_reason, '')) IS NOT DISTINCT FROM (ends, coalesce(btrim(pause_pool.reason), '')) THEN
        RETURN false;
    END IF;
    UPDATE pools p SET paused_until = ends, pause_reason = nullif(btrim(pause_pool.reason), '')
    WHERE p.region = was.region AND p.app = was.app AND p.version = was.version;
    INSERT INTO events (region, kind, actor, detail) VALUES (was.region, 'pool.paused', acting_operator(),
        jsonb_strip_nulls(jsonb_build_object('app', was.app, 'version', was.version, 'reason', nullif(btrim(pause_pool.reason), ''),
            'until', to_char(ends AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.pause_pool(text, text, text, text, timestamptz) IS 'Makes a pool start no servers until a time; without one, until ops.resume_pool. Running servers stay. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.resume_pool(region text, app text, version text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was pools;
    tried_again boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('director.pools'));
    SELECT * INTO was FROM pools p WHERE p.region = resume_pool.region AND p.app = resume_pool.app AND p.version = resume_pool.version FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no pool % of % in region %', coalesce(quote_literal(version), 'NULL'), coalesce(quote_literal(app), 'NULL'),
            coalesce(quote_literal(region), 'NULL') USING ERRCODE = 'no_data_found';
    END IF;
    UPDATE app_versions v SET failures = 0, paused_until = NULL, pause_reason = NULL
    WHERE v.app = was.app AND v.version = was.version AND (v.failures > 0 OR v.paused_until IS NOT NULL);
    tried_again := FOUND;
    IF NOT tried_again AND was.failures = 0 AND (was.paused_until IS NULL OR was.paused_until <= now()) THEN
        RETURN false;
    END IF;
    UPDATE pools p SET failures = 0, paused_until = NULL, pause_reason = NULL WHERE p.region = was.region AND p.app = was.app AND p.version = was.version;
    INSERT INTO events (region, kind, actor, detail) VALUES (was.region, 'pool.resumed', acting_operator(), jsonb_build_object('app', was.app, 'version', was.version));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.resume_pool(text, text, text) IS 'Ends the pause of a pool and that of its app version after failures, so that servers start if players need them. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.pause_profile(region text, profile text, reason text DEFAULT '') RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was profiles;
BEGIN
    IF length(pause_profile.reason) > 500 THEN
        RAISE EXCEPTION 'the reason must have at most 500 characters' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('director.profiles:' || coalesce(pause_profile.region, '')));
    SELECT * INTO was FROM profiles p WHERE p.region = pause_profile.region AND p.name = pause_profile.profile FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no profile % in region %', coalesce(quote_literal(profile), 'NULL'), coalesce(quote_literal(region), 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF was.retired_at IS NOT NULL THEN
        RAISE EXCEPTION 'profile % is retired: it makes no matches', quote_literal(profile) USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF was.paused_at IS NOT NULL AND coalesce(was.pause_reason, '') = coalesce(btrim(pause_profile.reason), '') THEN
        RETURN false;
    END IF;
    UPDATE profiles p SET paused_at = coalesce(p.paused_at, now()), pause_reason = nullif(btrim(pause_profile.reason), '') WHERE p.region = was.region AND p.name = was.name;
    INSERT INTO events (region, kind, actor, detail) VALUES (was.region, 'profile.paused', acting_operator(),
        jsonb_strip_nulls(jsonb_build_object('profile', was.name, 'version', was.live, 'reason', nullif(btrim(pause_profile.reason), ''))));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.pause_profile(text, text, text) IS 'Makes a profile make no matches until ops.resume_profile, within a second. Its tickets keep their place, and matches that were decided are played. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.resume_profile(region text, profile text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was profiles;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('director.profiles:' || coalesce(resume_profile.region, '')));
    SELECT * INTO was FROM profiles p WHERE p.region = resume_profile.region AND p.name = resume_profile.profile FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no profile % in region %', coalesce(quote_literal(profile), 'NULL'), coalesce(quote_literal(region), 'NULL') USING ERRCODE = 'no_data_found';
    ELSIF was.paused_at IS NULL THEN
        RETURN false;
    END IF;
    UPDATE profiles p SET paused_at = NULL, pause_reason = NULL WHERE p.region = was.region AND p.name = was.name;
    INSERT INTO events (region, kind, actor, detail) VALUES (was.region, 'profile.resumed', acting_operator(), jsonb_build_object('profile', was.name, 'version', was.live));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.resume_profile(text, text) IS 'Ends the pause of a profile: the tickets that waited meanwhile are matched. Returns whether this changed anything.';

REVOKE EXECUTE ON FUNCTION ops.pause_pool, ops.resume_pool, ops.pause_profile, ops.resume_profile FROM PUBLIC;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP FUNCTION ops.pause_pool, ops.resume_pool, ops.pause_profile, ops.resume_profile;
DROP VIEW ops.processes, ops.minute_samples, ops.match_minutes, ops.profiles, ops.deployments;
DROP TABLE minute_samples;
CREATE VIEW ops.profiles AS
SELECT p.region, p.name AS profile, p.live, p.shadow, p.retired_at,
       CASE WHEN p.retired_at IS NOT NULL THEN 'retired' WHEN d.document ? 'function' THEN 'function'
            WHEN w.id IS NOT NULL THEN 'decided' ELSE 'no worker' END AS state,
       CASE WHEN w.id IS NOT NULL THEN o.worker END AS worker, o.epoch, o.owned_at, w.lease_until
FROM profiles p
JOIN profile_versions v ON v.region = p.region AND v.name = p.name AND v.version = p.live
CROSS JOIN LATERAL (SELECT nullif(convert_from(v.canonical, 'UTF8'), '')::jsonb AS document) d
LEFT JOIN profile_owners o ON o.region = p.region AND o.profile = p.name
LEFT JOIN loop_workers w ON w.id = o.worker AND w.lease_until > clock_timestamp();
CREATE VIEW ops.deployments AS
SELECT d.region, d.id AS deployment, d.app, d.version, d.provider, d.phase, d.desired, d.origin, d.ref, d.tag, d.location, d.endpoint,
       coalesce(i.open_sessions, 0) AS open_sessions, coalesce(i.reserved_seats, 0) AS reserved_seats, statement_timestamp() - d.created_at AS age, d.created_at, d.attempt AS attempts, d.intent_at,
       d.provider_ready_at, d.registered_at, d.ready_at, d.lost_at, d.drain_at, d.ends_at, d.stop_at, d.next_at, d.boots, d.reason, d.last_error
FROM deployments d LEFT JOIN instances i ON i.region = d.region AND i.id = d.id::text AND i.status <> 'gone';
CREATE VIEW ops.match_minutes AS
SELECT date_bin('1 minute', h.committed_at, timestamptz 'epoch') AS minute, h.region, h.profile, h.version, q.measure, count(*) AS matches,
       avg(q.value) AS mean, max(q.value) AS highest
FROM match_history h
CROSS JOIN LATERAL (
    SELECT 'players' AS measure, h.players::float8 AS value
    UNION ALL
    SELECT 'latency_ms', (e ->> 'ms')::float8 FROM jsonb_array_elements(coalesce(h.why -> 'regions', '[]')) e WHERE e ->> 'region' = h.game_region AND e ? 'ms'
    UNION ALL
    SELECT 'rule ' || (e ->> 'rule'), (e ->> 'value')::float8 FROM jsonb_array_elements(coalesce(h.why -> 'rules', '[]')) e WHERE e ->> 'rule' IS NOT NULL) q
WHERE h.committed_at > statement_timestamp() - interval '1 hour' AND q.value IS NOT NULL
GROUP BY 1, 2, 3, 4, 5;
ALTER TABLE profiles DROP COLUMN paused_at, DROP COLUMN pause_reason;
