-- +goose Up

-- Live sessions, whose instances are looked up one by one: a join would leave it to the planner to start with all
-- instances of the region, which looks good while they are few and statistics are old.
CREATE OR REPLACE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       h.endpoint, h.status AS instance_status, h.reports_seats
FROM sessions s CROSS JOIN LATERAL (
    SELECT i.endpoint, i.status, i.reports_seats
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
      AND l.heartbeat_at > (SELECT lease_horizon())
    LIMIT 1) h;

-- Small tables as well: of one that was never analyzed, the planner believes that a region selects a few of its rows.
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
          AND c.reltuples < 200000 AND pg_stat_get_live_tuples(c.oid) > greatest(0, c.reltuples * 1.5)
    LOOP
        EXECUTE format('ANALYZE %s', hot);
        done := done + 1;
    END LOOP;
    RETURN done;
END
$$;
-- +goose StatementEnd

-- Hot tables, not large yet, in which what is dead outweighs what lives: cleaning up is quick, and worth it unless
-- somebody's snapshot keeps it from having an effect.
CREATE FUNCTION worn_tables() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT c.relname::text FROM pg_class c
    WHERE c.oid = ANY (ARRAY['instances', 'instance_leases', 'instance_modes', 'sessions', 'seats', 'redeemed_tokens',
                             'idempotency_keys']::regclass[])
      AND pg_relation_size(c.oid) < 64 * 1024 * 1024
      AND pg_stat_get_dead_tuples(c.oid) > greatest(1000, pg_stat_get_live_tuples(c.oid))
      AND NOT EXISTS (SELECT 1 FROM ops.oldest_snapshot o WHERE o.age > interval '5 seconds')
    ORDER BY c.relname
$$;

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
CREATE OR REPLACE VIEW live_sessions AS
SELECT s.region, s.id, s.handle, s.mode, s.instance_id, s.incarnation, s.player_count, s.max_players, s.opened_at,
       i.endpoint, i.status AS instance_status, i.reports_seats
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id AND i.incarnation = s.incarnation AND i.status <> 'gone'
JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id AND l.heartbeat_at > (SELECT lease_horizon());
