-- +goose Up

-- Live sessions; the instance of each is looked up by primary key. With a join the planner may start with all instances of the
-- region, which seems cheap while they are few and statistics are old.
CREATE OR REPLACE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       h.endpoint, h.status AS instance_status, h.reports_seats
FROM sessions s CROSS JOIN LATERAL (
    SELECT i.endpoint, i.status, i.reports_seats
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      AND l.heartbeat_at > (SELECT lease_horizon())
    LIMIT 1) h;

-- The tables whose rows come and go with players. Workers analyze and vacuum them more often than autovacuum does.
CREATE FUNCTION hot_tables() RETURNS regclass[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY['instance_directory', 'instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                 'idempotency_keys']::regclass[]
$$;

-- Analyzes small tables, too: in a table that was never analyzed, the planner expects a region to have few rows.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION analyze_grown() RETURNS integer LANGUAGE plpgsql AS $$
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
        WHERE c.oid = ANY (hot_tables())
          AND c.reltuples < 200000 AND pg_stat_get_live_tuples(c.oid) > greatest(0, c.reltuples * 1.5)
    LOOP
        EXECUTE format('ANALYZE %s', hot);
        done := done + 1;
    END LOOP;
    RETURN done;
END
$$;
-- +goose StatementEnd

-- Hot tables below 64 MiB with more dead rows than live ones. Vacuum is quick there, and worth its cost unless an old snapshot
-- prevents it from removing the rows.
CREATE FUNCTION worn_tables() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT c.relname::text FROM pg_class c
    WHERE c.oid = ANY (hot_tables())
      AND pg_relation_size(c.oid) < 64 * 1024 * 1024
      AND pg_stat_get_dead_tuples(c.oid) > greatest(1000, pg_stat_get_live_tuples(c.oid))
      AND NOT EXISTS (SELECT 1 FROM ops.oldest_snapshot o WHERE o.age > interval '5 seconds')
    ORDER BY c.relname
$$;

-- The same rows, but only violations are sorted: a dashboard that queried the view each second took half a core with 10,000
-- sessions.
CREATE OR REPLACE VIEW ops.invariant_double_seat AS
SELECT 'reserved twice' AS violation, t.region, t.mode, t.sub AS player, ARRAY(
    SELECT s.region || '.' || s.session_id FROM seats s
    WHERE s.region = t.region AND s.mode = t.mode AND s.sub = t.sub AND s.state = 'reserved' ORDER BY s.session_id) AS sessions
FROM (SELECT region, mode, sub FROM seats WHERE state = 'reserved' GROUP BY 1, 2, 3 HAVING count(*) > 1) t
UNION ALL
SELECT 'token used twice', t.region, u.mode, u.players, u.sessions
FROM (SELECT region, jti FROM seats WHERE state = 'connected' AND jti IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1) t CROSS JOIN LATERAL (
    SELECT min(s.mode) AS mode, string_agg(DISTINCT s.sub, ', ') AS players, array_agg(s.region || '.' || s.session_id ORDER BY s.session_id) AS sessions
    FROM seats s WHERE s.region = t.region AND s.jti = t.jti AND s.state = 'connected') u;

-- +goose Down
DROP FUNCTION IF EXISTS worn_tables;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION analyze_grown() RETURNS integer LANGUAGE plpgsql AS $$
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
DROP FUNCTION IF EXISTS hot_tables;
CREATE OR REPLACE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       i.endpoint, i.status AS instance_status, i.reports_seats
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id AND l.heartbeat_at > (SELECT lease_horizon());
CREATE OR REPLACE VIEW ops.invariant_double_seat AS
SELECT 'reserved twice' AS violation, region, mode, sub AS player, array_agg(region || '.' || session_id ORDER BY session_id) AS sessions
FROM seats WHERE state = 'reserved' GROUP BY region, mode, sub HAVING count(*) > 1
UNION ALL
SELECT 'token used twice', region, min(mode), string_agg(DISTINCT sub, ', '), array_agg(region || '.' || session_id ORDER BY session_id)
FROM seats WHERE state = 'connected' AND jti IS NOT NULL GROUP BY region, jti HAVING count(*) > 1;
