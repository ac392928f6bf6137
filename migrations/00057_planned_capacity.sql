-- Planned capacity: a pool's least number of servers, by the clock and by what earlier weeks needed.
--
-- Releases before this one neither read nor write these tables and columns: while one of their workers plans a pool, its declared min counts alone.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE pools
    ADD COLUMN zone       text NOT NULL DEFAULT 'UTC',
    ADD COLUMN forecast   boolean NOT NULL DEFAULT false,
    ADD COLUMN start_time interval,
    ADD CONSTRAINT a_start_takes_time CHECK (start_time > '0');
COMMENT ON COLUMN pools.zone IS 'the IANA time zone in which the forecast compares hours';
COMMENT ON COLUMN pools.forecast IS 'whether the forecast raises the least number of servers';
COMMENT ON COLUMN pools.start_time IS 'how long nine of ten servers took from the decision to start them until they were ready, as last measured; NULL: not measured';

CREATE TABLE pool_schedules (
    region      text NOT NULL,
    app         text COLLATE "C" NOT NULL,
    version     text COLLATE "C" NOT NULL,
    entry    integer NOT NULL,
    title       text NOT NULL,
    zone        text NOT NULL,
    days        integer[],
    start_on    date,
    end_on      date,
    start_at    time NOT NULL,
    end_at      time NOT NULL,
    min_servers integer NOT NULL,
    PRIMARY KEY (region, app, version, entry),
    FOREIGN KEY (region, app, version) REFERENCES pools ON DELETE CASCADE,
    CONSTRAINT a_schedule_raises_the_minimum CHECK (min_servers > 0),
    CONSTRAINT a_schedule_has_weekdays_or_is_an_event CHECK (
        days IS NULL AND start_on IS NOT NULL AND (end_on, end_at) > (start_on, start_at)
        OR days <@ '{1,2,3,4,5,6,7}' AND cardinality(days) > 0 AND start_on IS NULL AND end_on IS NULL)
);
COMMENT ON TABLE pool_schedules IS 'When a pool has a higher least number of servers: on weekdays, or once.';
COMMENT ON COLUMN pool_schedules.title IS 'the schedule in words, as operators write it';
COMMENT ON COLUMN pool_schedules.days IS 'weekdays on which it begins, 1 is Monday; NULL for an event, which has dates';
COMMENT ON COLUMN pool_schedules.end_at IS 'on the day after it begins, unless it is later than start_at; of an event: on end_on';

-- A row for each hour in which a worker planned the pool; eight weeks and the running one are kept. The fillfactor lets the maximum of the running
-- hour rise without a new page.
CREATE TABLE pool_hours (
    region  text NOT NULL,
    app     text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    hour    timestamptz NOT NULL,
    used    integer NOT NULL,
    PRIMARY KEY (region, app, version, hour),
    FOREIGN KEY (region, app, version) REFERENCES pools ON DELETE CASCADE,
    CONSTRAINT an_hour_is_a_whole_one_of_utc CHECK (date_trunc('hour', hour, 'UTC') = hour),
    CONSTRAINT used_servers_are_a_count CHECK (used >= 0)
) WITH (fillfactor = 80);
COMMENT ON TABLE pool_hours IS 'How many servers of a pool players needed at once, at most, in each hour.';

-- A clock that is put forward skips times, and one that is put back shows times twice. Postgres would read a skipped time as one after the jump, by
-- the offset before it, and take the second of two times.
-- +goose StatementBegin
CREATE FUNCTION wall_clock_instant(p_local timestamp, p_zone text, p_last boolean) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
    instant  timestamptz := p_local AT TIME ZONE p_zone;
    shown    timestamp := instant AT TIME ZONE p_zone;
    past     timestamptz := instant - interval '24 hours';
    earlier  timestamptz := (p_local - ((past AT TIME ZONE p_zone) - (past AT TIME ZONE 'UTC'))) AT TIME ZONE 'UTC';
BEGIN
    IF shown <> p_local THEN -- skipped: offsets are whole minutes
        RETURN (SELECT min(m.at) FROM generate_series(instant - (shown - p_local), instant, interval '1 minute') m(at)
                WHERE m.at AT TIME ZONE p_zone >= p_local);
    ELSIF NOT p_last AND earlier < instant AND earlier AT TIME ZONE p_zone = p_local THEN
        RETURN earlier;
    END IF;
    RETURN instant;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION wall_clock_instant(timestamp, text, boolean) IS 'When the clocks of a zone show a time: the first time or, with p_last, the last; for a time that they skip, when they jump over it.';

-- +goose StatementBegin
CREATE FUNCTION schedule_windows(s pool_schedules, p_from timestamptz, p_to timestamptz) RETURNS TABLE (starts_at timestamptz, ends_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT w.starts_at, w.ends_at FROM (
        SELECT wall_clock_instant(s.start_on + s.start_at, s.zone, false) AS starts_at, wall_clock_instant(s.end_on + s.end_at, s.zone, true) AS ends_at
        WHERE s.days IS NULL
        UNION ALL
        SELECT wall_clock_instant(d.day + s.start_at, s.zone, false),
               wall_clock_instant(d.day + CASE WHEN s.end_at > s.start_at THEN 0 ELSE 1 END + s.end_at, s.zone, true)
        FROM (
            SELECT (p_from AT TIME ZONE s.zone)::date + n AS day
            FROM generate_series(-2, (least(p_to, p_from + interval '192 hours') AT TIME ZONE s.zone)::date - (p_from AT TIME ZONE s.zone)::date + 1) n) d
        WHERE s.days IS NOT NULL AND extract(isodow FROM d.day)::int = ANY (s.days)) w
    WHERE w.starts_at < w.ends_at AND w.ends_at > p_from AND w.starts_at < p_to
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION schedule_windows(pool_schedules, timestamptz, timestamptz) IS 'When a schedule holds, of a range of time: of weekdays, in its first eight days.';

-- The forecast of an hour is the median of the same hour of the same weekday in the four weeks before, of which two must be known. The hours are those
-- of the zone's clocks, so that a change of them moves the forecast as it moves the players.
-- +goose StatementBegin
CREATE FUNCTION pool_forecast(p_region text, p_app text, p_version text, p_from timestamptz, p_to timestamptz)
RETURNS TABLE (hour timestamptz, weeks integer, low integer, high integer, expected integer, servers integer, used integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT h.hour, f.weeks, f.low, f.high, f.expected,
           CASE WHEN p.buffer_percent THEN ceil(f.expected * 100.0 / (100 - p.buffer))::int ELSE f.expected + p.buffer END, a.used
    FROM pools p
    CROSS JOIN generate_series(date_trunc('hour', p_from, 'UTC'), p_to, interval '1 hour') h(hour)
    CROSS JOIN LATERAL (
        SELECT count(*)::int AS weeks, min(u.used) AS low, max(u.used) AS high,
               CASE WHEN count(*) >= 2 THEN ceil(percentile_cont(0.5) WITHIN GROUP (ORDER BY u.used))::int END AS expected
        FROM generate_series(1, 4) n
        JOIN pool_hours u ON u.region = p.region AND u.app = p.app AND u.version = p.version
            AND u.hour = date_trunc('hour', ((h.hour AT TIME ZONE p.zone) - n * interval '7 days') AT TIME ZONE p.zone, 'UTC')) f
    LEFT JOIN pool_hours a ON a.region = p.region AND a.app = p.app AND a.version = p.version AND a.hour = h.hour
    WHERE p.region = p_region AND p.app = p_app AND p.version = p_version
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION pool_forecast(text, text, text, timestamptz, timestamptz) IS 'How many servers players will need, by the hour. expected is NULL where fewer than two of the last four weeks are known; servers adds the buffer; used is what was needed.';

-- Servers take time to start: those of a window are started as long before it as it takes when only the declared minimum runs.
-- +goose StatementBegin
CREATE FUNCTION pool_windows(p_region text, p_app text, p_version text, p_from timestamptz, p_to timestamptz)
RETURNS TABLE (entry integer, cause text, servers integer, prepare_at timestamptz, starts_at timestamptz, ends_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH pool AS (
        SELECT p.region, p.app, p.version, p.forecast, p.min_servers, p.max_servers, greatest(p.max_starting, 1) AS max_starting,
               coalesce(p.start_time, v.start_within + v.register_within) AS start_time
        FROM pools p JOIN app_versions v ON v.app = p.app AND v.version = p.version
        WHERE p.region = p_region AND p.app = p_app AND p.version = p_version
    ), windows AS (
        SELECT s.entry, s.title AS cause, s.min_servers AS servers, w.starts_at, w.ends_at
        FROM pool_schedules s CROSS JOIN LATERAL schedule_windows(s, p_from, p_to) w
        WHERE s.region = p_region AND s.app = p_app AND s.version = p_version
        UNION ALL
        SELECT NULL, 'forecast', f.servers, f.hour, f.hour + interval '1 hour'
        FROM pool p CROSS JOIN LATERAL pool_forecast(p.region, p.app, p.version, p_from, least(p_to, p_from + interval '24 hours')) f
        WHERE p.forecast AND f.servers > 0
    )
    SELECT w.entry, w.cause, least(w.servers, p.max_servers),
           w.starts_at - least(p.start_time * ceil(greatest(least(w.servers, p.max_servers) - p.min_servers, 0)::float8 / p.max_starting), interval '24 hours'),
           w.starts_at, w.ends_at
    FROM windows w CROSS JOIN pool p
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION pool_windows(text, text, text, timestamptz, timestamptz) IS 'When schedules, and the forecast if it is switched on, raise the least number of servers of a pool, and from when their servers start.';

-- +goose StatementBegin
CREATE FUNCTION pool_min(p_region text, p_app text, p_version text, p_at timestamptz) RETURNS TABLE (servers integer, cause text, is_preparing boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH windows AS (
        SELECT * FROM pool_windows(p_region, p_app, p_version, p_at, p_at + interval '24 hours') o WHERE o.prepare_at <= p_at AND o.ends_at > p_at
    )
    SELECT greatest(p.min_servers, w.servers), CASE WHEN w.servers > p.min_servers THEN w.cause ELSE 'min' END,
           EXISTS (SELECT FROM windows o WHERE o.starts_at > p_at AND o.entry IS NOT NULL)
    FROM pools p LEFT JOIN LATERAL (
        SELECT o.servers, o.cause FROM windows o ORDER BY o.servers DESC, o.ends_at DESC, o.entry LIMIT 1) w ON true
    WHERE p.region = p_region AND p.app = p_app AND p.version = p_version
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION pool_min(text, text, text, timestamptz) IS 'The least number of servers of a pool at a time, and what it is from: the greatest of min, the schedules and the forecast. is_preparing: a schedule has not begun, and its servers start.';

-- +goose StatementBegin
CREATE FUNCTION pool_next_min(p_region text, p_app text, p_version text, p_at timestamptz)
RETURNS TABLE (servers integer, at timestamptz, ready_at timestamptz, cause text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH windows AS (
        SELECT * FROM pool_windows(p_region, p_app, p_version, p_at, 'infinity')
    ), changes AS (
        SELECT w.prepare_at AS at FROM windows w WHERE w.prepare_at > p_at UNION SELECT w.ends_at FROM windows w
    )
    SELECT greatest(p.min_servers, n.servers), c.at, CASE WHEN n.servers > m.servers THEN n.starts_at END,
           CASE WHEN n.servers > p.min_servers THEN n.cause ELSE 'min' END
    FROM pools p
    CROSS JOIN LATERAL pool_min(p_region, p_app, p_version, p_at) m
    CROSS JOIN changes c
    LEFT JOIN LATERAL (
        SELECT w.servers, w.cause, w.starts_at FROM windows w WHERE w.prepare_at <= c.at AND w.ends_at > c.at
        ORDER BY w.servers DESC, w.ends_at DESC, w.entry LIMIT 1) n ON true
    WHERE p.region = p_region AND p.app = p_app AND p.version = p_version AND greatest(p.min_servers, n.servers) <> m.servers
    ORDER BY c.at LIMIT 1
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION pool_next_min(text, text, text, timestamptz) IS 'The next change of the least number of servers of a pool: when, to how many, and what it is from. ready_at is when servers that start then are to be ready.';

CREATE OR REPLACE VIEW ops.pools AS
SELECT p.region, p.app, p.version, v.provider,
       ARRAY(SELECT m.mode FROM pool_modes m WHERE m.region = p.region AND m.app = p.app AND m.version = p.version ORDER BY m.mode) AS modes,
       CASE WHEN p.paused_until > statement_timestamp() OR s.cause = 'capacity' THEN 'paused' WHEN s.cause = 'failures' THEN 'version paused'
            WHEN p.max_servers = 0 THEN 'off' WHEN d.servers + d.ending >= p.max_servers THEN 'full' ELSE 'active' END AS state,
       d.servers, d.starting, d.ready, d.busy, d.ending, w.waiting AS waiting_players, p.min_servers AS min, p.max_servers AS max,
       p.buffer || CASE WHEN p.buffer_percent THEN '%' ELSE '' END AS buffer, p.max_starting, p.empty_ttl,
       greatest(CASE WHEN p.paused_until > statement_timestamp() THEN p.paused_until END, s.until) AS paused_until,
       CASE WHEN p.paused_until > statement_timestamp() THEN p.pause_reason ELSE s.reason END AS pause_reason,
       p.last_plan ->> 'text' AS plan, CASE WHEN isfinite(p.planned_at) THEN p.planned_at END AS planned_at,
       p.zone, p.forecast, m.servers AS min_now, m.cause AS min_cause,
       n.servers AS next_min, n.at AS next_min_at, n.ready_at AS next_min_ready_at, n.cause AS next_min_cause
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
    WHERE m.region = p.region AND m.app = p.app AND m.version = p.version AND (n.expires_at IS NULL OR n.expires_at > statement_timestamp())) w
CROSS JOIN LATERAL pool_min(p.region, p.app, p.version, statement_timestamp()) m(servers, cause, is_preparing)
LEFT JOIN LATERAL pool_next_min(p.region, p.app, p.version, statement_timestamp()) n(servers, at, ready_at, cause) ON true;
COMMENT ON COLUMN ops.pools.min IS 'The number of servers that run whether players need them or not, as declared. min_now has schedules and the forecast.';
COMMENT ON COLUMN ops.pools.zone IS 'The time zone in which the forecast compares hours.';
COMMENT ON COLUMN ops.pools.forecast IS 'Whether the forecast raises the least number of servers.';
COMMENT ON COLUMN ops.pools.min_now IS 'The least number of servers now: the greatest of min, of the schedules that hold or are being prepared, and of the forecast if it is switched on. At most max.';
COMMENT ON COLUMN ops.pools.min_cause IS 'What that is from: min, a schedule in words, or forecast.';
COMMENT ON COLUMN ops.pools.next_min IS 'What min_now changes to next; NULL: no change is planned.';
COMMENT ON COLUMN ops.pools.next_min_at IS 'When it changes. Servers of a schedule start then, so that they are ready at next_min_ready_at.';
COMMENT ON COLUMN ops.pools.next_min_ready_at IS 'When the schedule begins, or the hour of the forecast; NULL: it falls.';
COMMENT ON COLUMN ops.pools.next_min_cause IS 'What it is from then: min, a schedule in words, or forecast.';

CREATE VIEW ops.pool_schedules AS
SELECT s.region, s.app, s.version, s.entry, s.title AS schedule, s.zone, s.min_servers AS min,
       CASE WHEN w.starts_at IS NULL THEN 'over' WHEN w.starts_at <= statement_timestamp() THEN 'holds'
            WHEN w.prepare_at <= statement_timestamp() THEN 'starting' ELSE 'ahead' END AS state,
       w.prepare_at, w.starts_at, w.ends_at
FROM pool_schedules s
LEFT JOIN LATERAL (
    SELECT o.prepare_at, o.starts_at, o.ends_at FROM pool_windows(s.region, s.app, s.version, statement_timestamp(), 'infinity')
        o(entry, cause, servers, prepare_at, starts_at, ends_at)
    WHERE o.entry = s.entry ORDER BY o.starts_at LIMIT 1) w ON true;
COMMENT ON VIEW ops.pool_schedules IS 'Times at which pools have a higher least number of servers.';
COMMENT ON COLUMN ops.pool_schedules.region IS 'The region of the pool.';
COMMENT ON COLUMN ops.pool_schedules.app IS 'Its app.';
COMMENT ON COLUMN ops.pool_schedules.version IS 'Its version.';
COMMENT ON COLUMN ops.pool_schedules.entry IS 'Its place in the declaration, from 0.';
COMMENT ON COLUMN ops.pool_schedules.schedule IS 'The schedule in words.';
COMMENT ON COLUMN ops.pool_schedules.zone IS 'The time zone whose clocks it follows.';
COMMENT ON COLUMN ops.pool_schedules.min IS 'The least number of servers while it holds. The pool''s max bounds it.';
COMMENT ON COLUMN ops.pool_schedules.state IS 'holds; starting: it begins soon, and its servers start; ahead; over: an event that has ended.';
COMMENT ON COLUMN ops.pool_schedules.prepare_at IS 'From when its servers start, this time or next. NULL: it is over.';
COMMENT ON COLUMN ops.pool_schedules.starts_at IS 'When it begins, this time or next.';
COMMENT ON COLUMN ops.pool_schedules.ends_at IS 'When that ends.';

CREATE VIEW ops.pool_forecast AS
SELECT p.region, p.app, p.version, f.hour, f.weeks, f.expected, f.low, f.high, f.servers, f.used
FROM pools p
CROSS JOIN LATERAL pool_forecast(p.region, p.app, p.version, statement_timestamp() - interval '168 hours', statement_timestamp() + interval '167 hours') f(hour, weeks, low, high, expected, servers, used);
COMMENT ON VIEW ops.pool_forecast IS 'How many servers players will need in the next week by the hour, and what was forecast and needed in the last one.';
COMMENT ON COLUMN ops.pool_forecast.region IS 'The region of the pool.';
COMMENT ON COLUMN ops.pool_forecast.app IS 'Its app.';
COMMENT ON COLUMN ops.pool_forecast.version IS 'Its version.';
COMMENT ON COLUMN ops.pool_forecast.hour IS 'When the hour begins.';
COMMENT ON COLUMN ops.pool_forecast.weeks IS 'In how many of the four weeks before the same hour is known.';
COMMENT ON COLUMN ops.pool_forecast.expected IS 'The forecast: the median of these hours. NULL: fewer than two are known.';
COMMENT ON COLUMN ops.pool_forecast.low IS 'The lowest of these hours.';
COMMENT ON COLUMN ops.pool_forecast.high IS 'The highest of these hours.';
COMMENT ON COLUMN ops.pool_forecast.servers IS 'The forecast with the pool''s buffer: the least number of servers where the forecast is switched on.';
COMMENT ON COLUMN ops.pool_forecast.used IS 'How many servers players needed at once, at most; so far, in the present hour. NULL: no worker planned the pool then.';

CREATE VIEW ops.pool_forecast_errors AS
SELECT p.region, p.app, p.version, p.forecast, e.hours, e.mean_used, e.mean_error, e.short_hours, e.worst_short, k.known_since
FROM pools p
CROSS JOIN LATERAL (
    SELECT count(*) AS hours, avg(f.used)::float8 AS mean_used, avg(abs(f.used - f.expected))::float8 AS mean_error,
           count(*) FILTER (WHERE f.used > f.expected) AS short_hours, greatest(max(f.used - f.expected), 0) AS worst_short
    FROM pool_forecast(p.region, p.app, p.version, statement_timestamp() - interval '672 hours', statement_timestamp() - interval '1 hour')
        f(hour, weeks, low, high, expected, servers, used)
    WHERE f.used IS NOT NULL AND f.expected IS NOT NULL) e
CROSS JOIN LATERAL (
    SELECT min(h.hour) AS known_since FROM pool_hours h WHERE h.region = p.region AND h.app = p.app AND h.version = p.version) k;
COMMENT ON VIEW ops.pool_forecast_errors IS 'How good the forecasts of the last four weeks were, for each pool: whether to switch it on.';
COMMENT ON COLUMN ops.pool_forecast_errors.region IS 'The region of the pool.';
COMMENT ON COLUMN ops.pool_forecast_errors.app IS 'Its app.';
COMMENT ON COLUMN ops.pool_forecast_errors.version IS 'Its version.';
COMMENT ON COLUMN ops.pool_forecast_errors.forecast IS 'Whether it is switched on.';
COMMENT ON COLUMN ops.pool_forecast_errors.hours IS 'How many hours of the last four weeks had a forecast and are over.';
COMMENT ON COLUMN ops.pool_forecast_errors.mean_used IS 'The mean of the servers that players needed in these hours. NULL: there are none.';
COMMENT ON COLUMN ops.pool_forecast_errors.mean_error IS 'By how many servers the forecast was wrong, in the mean of these hours.';
COMMENT ON COLUMN ops.pool_forecast_errors.short_hours IS 'In how many of these hours players needed more servers than were forecast.';
COMMENT ON COLUMN ops.pool_forecast_errors.worst_short IS 'How many more servers they needed in the worst of these hours. NULL: there are none.';
COMMENT ON COLUMN ops.pool_forecast_errors.known_since IS 'The first hour that is known of the pool. NULL: none.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.pool_forecast_errors, ops.pool_forecast, ops.pool_schedules, ops.pools;
CREATE VIEW ops.pools AS
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
COMMENT ON VIEW ops.pools IS 'Pools: how many servers of an app version a region may have, and has.';
COMMENT ON COLUMN ops.pools.region IS 'The region.';
COMMENT ON COLUMN ops.pools.app IS 'The app.';
COMMENT ON COLUMN ops.pools.version IS 'Its version.';
COMMENT ON COLUMN ops.pools.provider IS 'The provider that runs the servers: process, docker, edgegap, agones or manual.';
COMMENT ON COLUMN ops.pools.modes IS 'The modes for which servers are started; a mode belongs to one pool of a region. A pool without modes starts none.';
COMMENT ON COLUMN ops.pools.state IS 'active; full: it has max servers, with those that end; off: max is 0; paused: by an operator, or because the provider had no capacity; version paused: servers of the version failed in this region.';
COMMENT ON COLUMN ops.pools.servers IS 'Servers that are wanted, starting or ready.';
COMMENT ON COLUMN ops.pools.starting IS 'Servers that are wanted or starting, and not ready yet.';
COMMENT ON COLUMN ops.pools.ready IS 'Servers that are ready.';
COMMENT ON COLUMN ops.pools.busy IS 'Ready servers with an open session.';
COMMENT ON COLUMN ops.pools.ending IS 'Servers that drain, failed or stop: they may still cost money.';
COMMENT ON COLUMN ops.pools.waiting_players IS 'Players who wait for a server of its modes.';
COMMENT ON COLUMN ops.pools.min IS 'The number of servers that run whether players need them or not.';
COMMENT ON COLUMN ops.pools.max IS 'The most servers that it may have, with those that drain or end.';
COMMENT ON COLUMN ops.pools.buffer IS 'The number of ready servers without players, or a share of all servers.';
COMMENT ON COLUMN ops.pools.max_starting IS 'The most servers that start at the same time.';
COMMENT ON COLUMN ops.pools.empty_ttl IS 'How long a surplus server must have been empty before it ends.';
COMMENT ON COLUMN ops.pools.paused_until IS 'When its last pause ends; in the year 9999: when an operator resumes it. NULL: there is no pause.';
COMMENT ON COLUMN ops.pools.pause_reason IS 'Why it is paused.';
COMMENT ON COLUMN ops.pools.plan IS 'The last plan in words: how many servers are needed, and how many start or end.';
COMMENT ON COLUMN ops.pools.planned_at IS 'When the last plan was made. If older than a few seconds, no worker with providers runs.';
DROP FUNCTION pool_next_min, pool_min, pool_windows, pool_forecast, schedule_windows, wall_clock_instant;
DROP TABLE pool_hours, pool_schedules;
ALTER TABLE pools DROP COLUMN start_time, DROP COLUMN forecast, DROP COLUMN zone;
