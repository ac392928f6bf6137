-- Operators see how far the move of a region is, and what would stand in the way of one, where they see the rest.
--
-- The command that moves a region writes its progress into region_moves of both cells: how much is copied can be read in one cell only, and what of
-- the log is missing in the other. What stands in the way moves from the command's query into a function, so that the console says the same.
-- A write that is refused names its region in the DETAIL of the error: the replica holds the call until that region is flipped.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE region_moves ADD COLUMN tables integer NOT NULL DEFAULT 0, ADD COLUMN copied_tables integer NOT NULL DEFAULT 0,
    ADD COLUMN behind_bytes bigint NOT NULL DEFAULT 0, ADD COLUMN failures bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE VIEW ops.region_moves AS
SELECT m.id AS move, m.region, m.direction, m.step, m.cell, m.address, m.refuses_writes, m.begun_at, m.driven_at, m.fenced_at, m.flipped_at, m.ended_at, m.actor, m.reason,
       m.tables, m.copied_tables, m.behind_bytes, m.failures,
       m.ended_at IS NULL AND (m.step IN ('preparing', 'copying') OR m.step = 'fenced' AND m.direction = 'leaves') AS undoable,
       CASE
           WHEN m.ended_at IS NOT NULL THEN ''
           WHEN m.step = 'fenced' AND clock_timestamp() - m.fenced_at > interval '10 seconds' THEN 'neither cell serves the region: start the command again'
           WHEN m.direction = 'leaves' AND clock_timestamp() - m.driven_at > interval '1 minute' THEN 'no command works on it: start it again'
           WHEN m.step IN ('preparing', 'copying') AND m.failures > 0
               THEN 'the Postgres of the cell in which the region arrives failed ' || m.failures || ' times to apply a change: its log says why'
           WHEN m.direction = 'leaves' AND m.step = 'preparing' AND clock_timestamp() - m.begun_at > interval '10 seconds'
               THEN 'a trigger waits for a lock, or the slot for the end of an old transaction: director doctor names it'
           ELSE '' END AS in_the_way
FROM region_moves m;
COMMENT ON COLUMN ops.region_moves.tables IS 'How many tables are copied, as the command last read it; 0: it has not yet.';
COMMENT ON COLUMN ops.region_moves.copied_tables IS 'How many of them are copied, and followed since.';
COMMENT ON COLUMN ops.region_moves.behind_bytes IS 'How many bytes of the log the cell in which the region arrives had not confirmed.';
COMMENT ON COLUMN ops.region_moves.failures IS 'How often its Postgres has failed to apply a change.';
COMMENT ON COLUMN ops.region_moves.undoable IS 'Whether the move can be undone: the other cell does not serve the region yet.';
COMMENT ON COLUMN ops.region_moves.in_the_way IS 'Why it does not advance, and what to do; empty: nothing is in the way.';

CREATE FUNCTION region_obstacles(p_region text) RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT count(*) || ' deployments run game servers of the region: workers of this cell start and stop them. Apply their pools in the other cell, drain them here, and wait'
    FROM deployments d WHERE d.region = p_region HAVING count(*) > 0
    UNION ALL SELECT 'pools of the region start game servers here: delete them, and apply them in the other cell' FROM pools p WHERE p.region = p_region HAVING count(*) > 0
    UNION ALL SELECT count(*) || ' Rivalis game servers are connected to replicas of this cell: start them with the address of the other one' FROM agents a WHERE a.region = p_region HAVING count(*) > 0
    UNION ALL SELECT 'projects of the realtime lobby are in the region, and their secrets are sealed by this cell: create them in the other one' FROM projects p WHERE p.region = p_region HAVING count(*) > 0
    UNION ALL SELECT count(*) || ' sessions of the realtime lobby are in the region' FROM realtime_sessions r WHERE r.region = p_region HAVING count(*) > 0
    UNION ALL SELECT count(*) || ' rooms of the realtime lobby are in the region' FROM lobbies l WHERE l.region = p_region HAVING count(*) > 0
    UNION ALL SELECT 'valve ' || v.name || ' is of the region, and its line does not move: delete it' FROM valves v WHERE v.region = p_region
    UNION ALL SELECT 'an evacuation of ' || e.target || ' ' || e.value || ' runs: wait for its end' FROM evacuations e WHERE e.ended_at IS NULL
    UNION ALL SELECT 'a player is being erased: wait some seconds' FROM erasures e WHERE e.finished_at IS NULL HAVING count(*) > 0
    UNION ALL SELECT count(*) || ' sessions of the region are of matches of universe ' || min(m.region) || ', which stays: end these matches, and take the region out of its profiles'
    FROM sessions s JOIN matches m ON m.session_id = s.id AND m.region <> s.region WHERE s.region = p_region HAVING count(*) > 0
    UNION ALL SELECT count(*) || ' sessions of other regions are of matches of universe ' || p_region || ', which would leave' FROM matches m
    JOIN sessions s ON s.id = m.session_id AND s.region <> m.region WHERE m.region = p_region HAVING count(*) > 0
    UNION ALL SELECT 'cell ' || r.cell || ' serves the region, not this one' FROM cell_regions r WHERE r.region = p_region
$$;
COMMENT ON FUNCTION region_obstacles(text) IS 'What stands in the way in the cell that the region is to leave. Each is a sentence.';

CREATE VIEW ops.region_obstacles AS
SELECT r.region, o.obstacle
FROM (SELECT g.region FROM ops.regions g UNION SELECT p.region FROM pools p UNION SELECT j.region FROM projects j UNION SELECT v.region FROM valves v WHERE v.region <> '') r
CROSS JOIN LATERAL region_obstacles(r.region) o (obstacle);
COMMENT ON VIEW ops.region_obstacles IS 'What stands in the way of moving a region to another cell, for each region with game servers, pools, projects or valves. The dry run of the command also says what the two Postgres and the other cell lack.';
COMMENT ON COLUMN ops.region_obstacles.region IS 'The region.';
COMMENT ON COLUMN ops.region_obstacles.obstacle IS 'A sentence: what it is, and what to do about it.';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refuse_moving_region() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    written text := CASE TG_OP WHEN 'DELETE' THEN OLD.region ELSE NEW.region END;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtext('director.region_moves'), hashtext(written));
    IF region_refuses_writes(written) AND current_setting('director.deletes_region', true) IS DISTINCT FROM written THEN
        RAISE EXCEPTION 'region % moves to another cell', written USING ERRCODE = 'DR421', DETAIL = written;
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$;
-- +goose StatementEnd

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refuse_moving_region() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    written text := CASE TG_OP WHEN 'DELETE' THEN OLD.region ELSE NEW.region END;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtext('director.region_moves'), hashtext(written));
    IF region_refuses_writes(written) AND current_setting('director.deletes_region', true) IS DISTINCT FROM written THEN
        RAISE EXCEPTION 'region % moves to another cell', written USING ERRCODE = 'DR421';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$;
-- +goose StatementEnd
DROP VIEW ops.region_obstacles;
DROP FUNCTION region_obstacles(text);
DROP VIEW ops.region_moves;
CREATE VIEW ops.region_moves AS
SELECT m.id AS move, m.region, m.direction, m.step, m.cell, m.address, m.refuses_writes, m.begun_at, m.driven_at, m.fenced_at, m.flipped_at, m.ended_at, m.actor, m.reason
FROM region_moves m;
ALTER TABLE region_moves DROP COLUMN tables, DROP COLUMN copied_tables, DROP COLUMN behind_bytes, DROP COLUMN failures;
