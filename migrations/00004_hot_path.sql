-- Makes hot statements cheaper: fewer index entries for a new seat, more HOT updates, and plans that do not depend on
-- statistics. Indexes are created CONCURRENTLY, beside running replicas, so each statement is a transaction of its own.

-- +goose NO TRANSACTION

-- +goose Up

-- Every hot statement names one region, and a fleet may have only one. A planner that takes region for selective may scan an
-- index by region alone, which reads the whole table.
ALTER TABLE instances ALTER COLUMN region SET (n_distinct = 1);
ALTER TABLE instance_leases ALTER COLUMN region SET (n_distinct = 1);
ALTER TABLE instance_modes ALTER COLUMN region SET (n_distinct = 1);
ALTER TABLE sessions ALTER COLUMN region SET (n_distinct = 1);
ALTER TABLE seats ALTER COLUMN region SET (n_distinct = 1);
ALTER TABLE redeemed_tokens ALTER COLUMN region SET (n_distinct = 1);

-- look_at is when the reaper checks a seat to which nobody has connected; it is never after expires_at. Statements that move
-- expires_at do not change look_at, which is indexed, so they are HOT updates. When the reaper finds that a seat expires later,
-- it moves look_at.
--
-- The foreign key of seats looked up the session of each new seat, which was a quarter of the cost of a placement. It is not
-- needed: a transaction that inserts a seat has locked its session, and one that deletes a session has deleted its seats.
-- ops.invariant_seat_count_drift checks this.
SET lock_timeout = '3s'; -- while ALTER TABLE waits for a long reader, everybody else waits behind it: fail, and run it again later
ALTER TABLE seats ADD COLUMN IF NOT EXISTS look_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE seats DROP CONSTRAINT IF EXISTS seats_region_session_id_fkey;
ALTER TABLE seats SET (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE sessions SET (autovacuum_vacuum_scale_factor = 0.05);
RESET lock_timeout;
CREATE OR REPLACE VIEW ops.invariant_seat_count_drift AS
SELECT coalesce(s.region, t.region) AS region, coalesce(s.region || '.' || s.id, t.region || '.' || t.session_id) AS session,
       coalesce(s.player_count, 0) AS player_count, coalesce(t.seats, 0) AS seats
FROM sessions s
FULL JOIN (SELECT region, session_id, count(*) AS seats FROM seats GROUP BY 1, 2) t ON t.region = s.region AND t.session_id = s.id
WHERE coalesce(s.player_count, 0) <> coalesce(t.seats, 0);
COMMENT ON VIEW ops.invariant_seat_count_drift IS 'Sessions that count other players than they have seats, and sessions that are gone while there are seats in them.';

DROP INDEX CONCURRENTLY IF EXISTS seats_to_look_at;
-- region is not first, and there is a condition on look_at that other queries do not have: while few seats are reserved, the
-- index would attract unrelated queries.
CREATE INDEX CONCURRENTLY seats_to_look_at ON seats (look_at) WHERE state = 'reserved' AND look_at > '-infinity';
DROP INDEX CONCURRENTLY IF EXISTS seats_by_expiry;

-- Partial indexes, so that a seat which its own player reserved is in only one index of players.
DROP INDEX CONCURRENTLY IF EXISTS a_player_waits_for_one_seat_in_a_mode;
CREATE UNIQUE INDEX CONCURRENTLY a_player_waits_for_one_seat_in_a_mode ON seats (region, sub, mode) WHERE state = 'reserved';
DROP INDEX CONCURRENTLY IF EXISTS a_player_waits_for_one_seat_per_mode;
DROP INDEX CONCURRENTLY IF EXISTS seats_connected;
CREATE INDEX CONCURRENTLY seats_connected ON seats (region, sub) WHERE state = 'connected';
DROP INDEX CONCURRENTLY IF EXISTS seats_of_player;
DROP INDEX CONCURRENTLY IF EXISTS seats_reserved_for_others;
CREATE INDEX CONCURRENTLY seats_reserved_for_others ON seats (region, reserved_by) WHERE reserved_by <> sub;
DROP INDEX CONCURRENTLY IF EXISTS seats_reserved_by;

-- The same function in PL/pgSQL, which caches its plan: in SQL it was planned again in every statement.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION lease_horizon() RETURNS timestamptz LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN pulse_at > pg_postmaster_start_time() AND steady_since <= statement_timestamp() - lease_ttl
            THEN least(statement_timestamp(), pulse_at + lease_ttl / 5) - lease_ttl
            ELSE '-infinity' END
        FROM fleet_clock);
END
$$;
-- +goose StatementEnd

-- Open sessions, and whether they take new players. This is a subquery for each row, not a join: the planner expects a join that
-- compares incarnations to be far more selective than it is, and would run it before it reads the sessions in their order.
CREATE OR REPLACE VIEW open_sessions AS
SELECT s.region, s.id, s.mode, s.player_count, s.max_players, (
    SELECT i.incarnation = s.incarnation AND i.status = 'ready' AND l.heartbeat_at > (SELECT lease_horizon())
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE i.region = s.region AND i.id = s.instance_id) AS takes_players
FROM sessions s;

-- +goose Down
DROP VIEW IF EXISTS open_sessions;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION lease_horizon() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN pulse_at > pg_postmaster_start_time() AND steady_since <= statement_timestamp() - lease_ttl
        THEN least(statement_timestamp(), pulse_at + lease_ttl / 5) - lease_ttl
        ELSE '-infinity' END
    FROM fleet_clock
$$;
-- +goose StatementEnd
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS a_player_waits_for_one_seat_per_mode ON seats (region, mode, sub) WHERE state = 'reserved';
CREATE INDEX CONCURRENTLY IF NOT EXISTS seats_of_player ON seats (region, sub);
CREATE INDEX CONCURRENTLY IF NOT EXISTS seats_reserved_by ON seats (region, reserved_by) WHERE state = 'reserved';
CREATE INDEX CONCURRENTLY IF NOT EXISTS seats_by_expiry ON seats (expires_at) WHERE state = 'reserved';
DROP INDEX CONCURRENTLY IF EXISTS seats_reserved_for_others;
DROP INDEX CONCURRENTLY IF EXISTS seats_connected;
DROP INDEX CONCURRENTLY IF EXISTS a_player_waits_for_one_seat_in_a_mode;
DROP INDEX CONCURRENTLY IF EXISTS seats_to_look_at;
CREATE OR REPLACE VIEW ops.invariant_seat_count_drift AS
SELECT s.region, s.region || '.' || s.id AS session, s.player_count, coalesce(t.seats, 0) AS seats
FROM sessions s
LEFT JOIN (SELECT region, session_id, count(*) AS seats FROM seats GROUP BY 1, 2) t ON t.region = s.region AND t.session_id = s.id
WHERE s.player_count <> coalesce(t.seats, 0);
COMMENT ON VIEW ops.invariant_seat_count_drift IS 'Sessions that count other players than they have seats.';
SET lock_timeout = '3s';
ALTER TABLE seats DROP COLUMN IF EXISTS look_at;
ALTER TABLE seats DROP CONSTRAINT IF EXISTS seats_region_session_id_fkey;
ALTER TABLE seats ADD CONSTRAINT seats_region_session_id_fkey FOREIGN KEY (region, session_id) REFERENCES sessions;
ALTER TABLE seats RESET (fillfactor, autovacuum_vacuum_scale_factor);
ALTER TABLE sessions RESET (autovacuum_vacuum_scale_factor);
RESET lock_timeout;
ALTER TABLE instances ALTER COLUMN region RESET (n_distinct);
ALTER TABLE instance_leases ALTER COLUMN region RESET (n_distinct);
ALTER TABLE instance_modes ALTER COLUMN region RESET (n_distinct);
ALTER TABLE sessions ALTER COLUMN region RESET (n_distinct);
ALTER TABLE seats ALTER COLUMN region RESET (n_distinct);
ALTER TABLE redeemed_tokens ALTER COLUMN region RESET (n_distinct);
