-- What keeps servers from starting for a while, by region: trouble in one region must not stop the servers of all others.
--
-- Until now app_versions had the pause after failures, for all regions, and pools that for lack of capacity, in the columns of an operator's
-- pause. Workers of the release before write these columns still, so they count until the next release; what such a worker writes into
-- pools.paused_until is taken for an operator's pause.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE start_pauses (
    region  text NOT NULL,
    app     text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    cause   text COLLATE "C" NOT NULL,   -- failures: its servers failed; capacity: the provider had no room for one
    count   integer NOT NULL,            -- of failures or refusals since the last success
    until   timestamptz,                 -- starts no servers until then; null: there were too few for a pause
    reason  text NOT NULL,               -- of the last one
    PRIMARY KEY (region, app, version, cause),
    CONSTRAINT a_start_pause_is_of_an_app_version FOREIGN KEY (app, version) REFERENCES app_versions (app, version) ON DELETE CASCADE,
    CONSTRAINT a_start_pause_has_a_known_cause CHECK (cause IN ('failures', 'capacity')),
    CONSTRAINT a_start_pause_has_an_end CHECK (isfinite(until))
);

-- How long the number-th failure or refusal in a row pauses. Three failures are a pattern, one lack of capacity is a fact.
CREATE FUNCTION start_pause(p_cause text, p_number integer) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_cause = 'capacity' THEN least(interval '5 seconds' * power(2, least(p_number - 1, 10)), interval '5 minutes')
                WHEN p_number >= 3 THEN least(interval '1 minute' * power(2, least(p_number - 3, 10)), interval '30 minutes') END
$$;
COMMENT ON FUNCTION start_pause(text, integer) IS 'How long the number-th failure or refusal in a row pauses an app version in a region; NULL: not at all.';

-- As in 00027, but with the pauses of the region, and full where servers that end take the last places.
CREATE OR REPLACE VIEW ops.pools AS
SELECT p.region, p.app, p.version, v.provider,
       ARRAY(SELECT m.mode FROM pool_modes m WHERE m.region = p.region AND m.app = p.app AND m.version = p.version ORDER BY m.mode) AS modes,
       CASE WHEN p.paused_until > statement_timestamp() OR s.cause = 'capacity' THEN 'paused' WHEN s.cause = 'failures' THEN 'version paused'
            WHEN p.max_servers = 0 THEN 'off' WHEN d.servers + d.ending >= p.max_servers THEN 'full' ELSE 'active' END AS state,
       d.servers, d.starting, d.ready, d.busy, d.ending, w.waiting AS waiting_players, p.min_servers AS min, p.max_servers AS max,
       p.buffer || CASE WHEN p.buffer_percent THEN '%' ELSE '' END AS buffer, p.max_starting, p.empty_ttl,
       greatest(CASE WHEN p.paused_until > statement_timestamp() THEN p.paused_until END, s.until) AS paused_until,
       CASE WHEN p.paused_until > statement_timestamp() THEN p.pause_reason ELSE s.reason END AS pause_reason,
       p.last_plan ->> 'text' AS plan, CASE WHEN isfinite(p.planned_at) THEN p.planned_at END AS planned_at
FROM pools p
JOIN app_versions v ON v.app = p.app AND v.version = p.version
LEFT JOIN LATERAL (
    SELECT t.cause, t.reason, t.until FROM (
        SELECT o.cause, o.reason, o.until FROM start_pauses o
        WHERE o.region = p.region AND o.app = p.app AND o.version = p.version AND o.until > statement_timestamp()
        UNION ALL SELECT 'failures', v.pause_reason, v.paused_until WHERE v.paused_until > statement_timestamp()) t
    ORDER BY t.until DESC LIMIT 1) s ON true
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE x.desired = 'running' AND x.phase IN ('wanted', 'deploying', 'starting', 'ready')) AS servers,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase IN ('wanted', 'deploying', 'starting')) AS starting,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase = 'ready') AS ready,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase = 'ready' AND i.open_sessions > 0) AS busy,
           count(*) FILTER (WHERE x.desired = 'stopped' OR x.phase IN ('draining', 'failed', 'stopping')) AS ending
    FROM deployments x LEFT JOIN instances i ON i.region = x.region AND i.id = x.id::text AND i.status <> 'gone'
    WHERE x.region = p.region AND x.app = p.app AND x.version = p.version) d
CROSS JOIN LATERAL (
    SELECT coalesce(sum(n.players), 0)::bigint AS waiting FROM pool_modes m JOIN demand n ON n.region = m.region AND n.mode = m.mode
    WHERE m.region = p.region AND m.app = p.app AND m.version = p.version AND (n.expires_at IS NULL OR n.expires_at > statement_timestamp())) w;
COMMENT ON COLUMN ops.pools.state IS 'active; full: it has max servers, with those that end; off: max is 0; paused: by an operator, or because the provider had no capacity; version paused: servers of the version failed in this region.';
COMMENT ON COLUMN ops.pools.max IS 'The most servers that it may have, with those that drain or end.';
COMMENT ON COLUMN ops.pools.paused_until IS 'When its last pause ends; in the year 9999: when an operator resumes it. NULL: there is no pause.';

-- As in 00034, with the pauses of the region.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ops.resume_pool(region text, app text, version text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
    DELETE FROM start_pauses s WHERE s.region = was.region AND s.app = was.app AND s.version = was.version;
    tried_again := tried_again OR FOUND;
    IF NOT tried_again AND was.failures = 0 AND (was.paused_until IS NULL OR was.paused_until <= now()) THEN
        RETURN false;
    END IF;
    UPDATE pools p SET failures = 0, paused_until = NULL, pause_reason = NULL WHERE p.region = was.region AND p.app = was.app AND p.version = was.version;
    INSERT INTO events (region, kind, actor, detail) VALUES (was.region, 'pool.resumed', acting_operator(), jsonb_build_object('app', was.app, 'version', was.version));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.resume_pool(text, text, text) IS 'Ends the pause of a pool, and those of its region after failures and for lack of capacity, so that servers start if players need them. Returns whether this changed anything.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
CREATE OR REPLACE VIEW ops.pools AS
SELECT p.region, p.app, p.version, v.provider,
       ARRAY(SELECT m.mode FROM pool_modes m WHERE m.region = p.region AND m.app = p.app AND m.version = p.version ORDER BY m.mode) AS modes,
       CASE WHEN p.paused_until > statement_timestamp() THEN 'paused' WHEN v.paused_until > statement_timestamp() THEN 'version paused'
            WHEN p.max_servers = 0 THEN 'off' WHEN d.servers >= p.max_servers THEN 'full' ELSE 'active' END AS state,
       d.servers, d.starting, d.ready, d.busy, d.ending, w.waiting AS waiting_players, p.min_servers AS min, p.max_servers AS max,
       p.buffer || CASE WHEN p.buffer_percent THEN '%' ELSE '' END AS buffer, p.max_starting, p.empty_ttl,
       greatest(CASE WHEN p.paused_until > statement_timestamp() THEN p.paused_until END, CASE WHEN v.paused_until > statement_timestamp() THEN v.paused_until END) AS paused_until,
       CASE WHEN p.paused_until > statement_timestamp() THEN p.pause_reason WHEN v.paused_until > statement_timestamp() THEN v.pause_reason END AS pause_reason,
       p.last_plan ->> 'text' AS plan, CASE WHEN isfinite(p.planned_at) THEN p.planned_at END AS planned_at
FROM pools p
JOIN app_versions v ON v.app = p.app AND v.version = p.version
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE x.desired = 'running' AND x.phase IN ('wanted', 'deploying', 'starting', 'ready')) AS servers,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase IN ('wanted', 'deploying', 'starting')) AS starting,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase = 'ready') AS ready,
           count(*) FILTER (WHERE x.desired = 'running' AND x.phase = 'ready' AND i.open_sessions > 0) AS busy,
           count(*) FILTER (WHERE x.desired = 'stopped' OR x.phase IN ('draining', 'failed', 'stopping')) AS ending
    FROM deployments x LEFT JOIN instances i ON i.region = x.region AND i.id = x.id::text AND i.status <> 'gone'
    WHERE x.region = p.region AND x.app = p.app AND x.version = p.version) d
CROSS JOIN LATERAL (
    SELECT coalesce(sum(n.players), 0)::bigint AS waiting FROM pool_modes m JOIN demand n ON n.region = m.region AND n.mode = m.mode
    WHERE m.region = p.region AND m.app = p.app AND m.version = p.version AND (n.expires_at IS NULL OR n.expires_at > statement_timestamp())) w;
COMMENT ON COLUMN ops.pools.state IS 'active; full: it has max servers; off: max is 0; paused: by an operator, or because the provider had no capacity; version paused: servers of the version failed, in any region.';
COMMENT ON COLUMN ops.pools.max IS 'The most servers that it may have.';
COMMENT ON COLUMN ops.pools.paused_until IS 'When the pause of the pool or of its version ends; in the year 9999: when an operator resumes it. NULL: there is no pause.';
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ops.resume_pool(region text, app text, version text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
DROP FUNCTION start_pause;
DROP TABLE start_pauses;
