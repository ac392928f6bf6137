-- Cells: other complete installations, each with a Postgres and replicas of its own, that serve game regions of the same title.
--
-- A region that no row names is served here. So an installation of one cell has no row, and each cell lists the others.
--
-- Processes of releases before this one neither read nor write the tables: they serve every region. Set cells once all replicas are of this release.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE cells (
    cell      text PRIMARY KEY,
    address   text NOT NULL,                 -- of its API, without a slash at the end
    listeners jsonb NOT NULL DEFAULT '{}',   -- addresses of its other listeners, by their names
    set_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    set_by    text NOT NULL,
    CONSTRAINT a_cell_has_a_short_name CHECK (cell ~ '^[a-z0-9-]{1,32}$'),
    CONSTRAINT the_address_of_a_cell_is_a_base_url
        CHECK (address ~ '^https?://[^/?#@[:space:][:cntrl:]]+(/[^?#[:space:][:cntrl:]]*)?$' AND octet_length(address) <= 512),
    CONSTRAINT addresses_of_listeners_are_an_object CHECK (jsonb_typeof(listeners) = 'object' AND octet_length(listeners::text) <= 4096)
);

-- A row for each region, so that no region is of two cells.
CREATE TABLE cell_regions (
    region text PRIMARY KEY,
    cell   text NOT NULL REFERENCES cells ON DELETE CASCADE,
    CONSTRAINT a_region_of_a_cell_has_a_name CHECK (region ~ '^[a-z0-9-]{1,32}$')
);
CREATE INDEX regions_of_a_cell ON cell_regions (cell);

CREATE VIEW ops.cells AS
SELECT c.cell, c.address, ARRAY(SELECT r.region FROM cell_regions r WHERE r.cell = c.cell ORDER BY r.region) AS regions, c.listeners, c.set_at, c.set_by
FROM cells c;
COMMENT ON VIEW ops.cells IS 'The other cells: installations of the same title with a Postgres of their own, and the regions that they serve. A region that no cell has is served here.';
COMMENT ON COLUMN ops.cells.cell IS 'The name of the cell.';
COMMENT ON COLUMN ops.cells.address IS 'The base URL of its API, to which replicas send callers that name one of its regions.';
COMMENT ON COLUMN ops.cells.regions IS 'The regions that it serves.';
COMMENT ON COLUMN ops.cells.listeners IS 'The addresses of its other listeners, by name: realtime, control, orchestrator, console, grpc.';
COMMENT ON COLUMN ops.cells.set_at IS 'When an operator set it.';
COMMENT ON COLUMN ops.cells.set_by IS 'Who set it.';

CREATE VIEW ops.game_regions AS
SELECT coalesce(r.region, b.region) AS region, r.cell, r.address, b.url AS beacon
FROM (SELECT e.region, e.cell, c.address FROM cell_regions e JOIN cells c ON c.cell = e.cell) r FULL JOIN region_beacons b ON b.region = r.region;
COMMENT ON VIEW ops.game_regions IS 'What GET /regions lists: the regions that have a beacon or are served by another cell.';
COMMENT ON COLUMN ops.game_regions.region IS 'The region.';
COMMENT ON COLUMN ops.game_regions.cell IS 'The cell that serves it; NULL: this one.';
COMMENT ON COLUMN ops.game_regions.address IS 'The base URL of the API of that cell; NULL: of this one.';
COMMENT ON COLUMN ops.game_regions.beacon IS 'The URL that clients fetch to measure their latency to it; NULL: none.';

-- +goose StatementBegin
CREATE FUNCTION ops.set_cell(cell text, address text, regions text[], reason text, listeners jsonb DEFAULT '{}', even_if_used boolean DEFAULT false)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    url     text := rtrim(set_cell.address, '/');
    wanted  text[] := ARRAY(SELECT DISTINCT n.region COLLATE "C" FROM unnest(set_cell.regions) n(region) ORDER BY 1);
    wrong   text;
    was     record;
BEGIN
    IF (set_cell.cell ~ '^[a-z0-9-]{1,32}$') IS NOT TRUE THEN
        RAISE EXCEPTION 'the name of a cell is 1 to 32 characters of a-z 0-9 -' USING ERRCODE = 'invalid_parameter_value';
    ELSIF (url ~ '^https?://[^/?#@[:space:][:cntrl:]]+(/[^?#[:space:][:cntrl:]]*)?$' AND octet_length(url) <= 512) IS NOT TRUE THEN
        RAISE EXCEPTION 'the address of a cell is a base URL of http or https of at most 512 bytes, without a user and a query'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF cardinality(wanted) = 0 OR EXISTS (SELECT FROM unnest(wanted) n(region) WHERE (n.region ~ '^[a-z0-9-]{1,32}$') IS NOT TRUE) THEN
        RAISE EXCEPTION 'a cell has regions, each of 1 to 32 characters of a-z 0-9 -' USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(btrim(set_cell.reason), '') = '' OR length(set_cell.reason) > 500 THEN
        RAISE EXCEPTION 'reason must be 1 to 500 characters that say why the cell is set' USING ERRCODE = 'invalid_parameter_value';
    ELSIF jsonb_typeof(set_cell.listeners) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'listeners must be an object of addresses by listener' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT l.key INTO wrong FROM jsonb_each_text(set_cell.listeners) l
    WHERE (octet_length(l.value) <= 512 AND CASE l.key
        WHEN 'realtime' THEN l.value ~ '^wss?://[^/?#@[:space:][:cntrl:]]+(/[^?#[:space:][:cntrl:]]*)?$'
        WHEN 'grpc' THEN l.value ~ '^[^/?#@[:space:][:cntrl:]]+:[0-9]{1,5}$'
        ELSE l.key IN ('control', 'orchestrator', 'console') AND l.value ~ '^https?://[^/?#@[:space:][:cntrl:]]+(/[^?#[:space:][:cntrl:]]*)?$' END) IS NOT TRUE
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'listener % is none of realtime (a URL of ws or wss), grpc (host:port), control, orchestrator and console (URLs of http or https)', quote_literal(wrong)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    LOCK TABLE cells IN SHARE ROW EXCLUSIVE MODE; -- for the bounds below
    SELECT c.address, c.listeners, c.regions INTO was FROM ops.cells c WHERE c.cell = set_cell.cell;
    IF (was.address, was.listeners, was.regions) IS NOT DISTINCT FROM (url, set_cell.listeners, wanted) THEN
        RETURN false;
    ELSIF was.address IS NULL AND (SELECT count(*) FROM cells) >= 64 THEN
        RAISE EXCEPTION 'there are 64 cells: remove one first' USING ERRCODE = 'invalid_parameter_value';
    ELSIF (SELECT count(*) FROM cell_regions r WHERE r.cell <> set_cell.cell AND r.region <> ALL (wanted)) + cardinality(wanted) > 256 THEN
        RAISE EXCEPTION 'the cells have 256 regions: take one away first' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT u.region || ' has ' || u.what INTO wrong FROM (
        (SELECT i.region, 'game servers' AS what FROM instances i WHERE i.region = ANY (wanted) AND i.status <> 'gone')
        UNION ALL (SELECT a.region, 'Rivalis game servers' FROM agents a WHERE a.region = ANY (wanted))
        UNION ALL (SELECT t.region, 'tickets' FROM tickets t WHERE t.region = ANY (wanted))
        UNION ALL (SELECT s.region, 'sessions of the realtime lobby' FROM realtime_sessions s WHERE s.region = ANY (wanted))) u
    WHERE NOT EXISTS (SELECT FROM cell_regions r WHERE r.region = u.region) LIMIT 1;
    IF wrong IS NOT NULL AND NOT set_cell.even_if_used THEN
        RAISE EXCEPTION 'region % here, which the other cell does not know: they would be lost', wrong
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Drain the region and wait, or call it with even_if_used => true.';
    END IF;

    INSERT INTO cells AS c (cell, address, listeners, set_by) VALUES (set_cell.cell, url, set_cell.listeners, acting_operator())
    ON CONFLICT ON CONSTRAINT cells_pkey
    DO UPDATE SET address = excluded.address, listeners = excluded.listeners, set_at = excluded.set_at, set_by = excluded.set_by;
    DELETE FROM cell_regions r WHERE r.cell = set_cell.cell AND r.region <> ALL (wanted);
    INSERT INTO cell_regions (region, cell) SELECT n.region, set_cell.cell FROM unnest(wanted) n(region)
    ON CONFLICT ON CONSTRAINT cell_regions_pkey DO UPDATE SET cell = excluded.cell;
    INSERT INTO events (kind, actor, detail) VALUES ('cell.set', acting_operator(), jsonb_build_object('cell', set_cell.cell, 'address', url,
        'regions', to_jsonb(wanted), 'listeners', set_cell.listeners, 'reason', btrim(set_cell.reason)));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.set_cell(text, text, text[], text, jsonb, boolean) IS 'Says which regions another cell serves, and where. Replicas answer 421 with its address to callers that name one of them, within two seconds. A region is of one cell: naming it takes it from another. Refused where a region has game servers, tickets or sessions of the lobby here, unless even_if_used is true. Returns whether this changed anything.';

-- +goose StatementBegin
CREATE FUNCTION ops.remove_cell(cell text, reason text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    had text[];
BEGIN
    IF coalesce(btrim(remove_cell.reason), '') = '' OR length(remove_cell.reason) > 500 THEN
        RAISE EXCEPTION 'reason must be 1 to 500 characters that say why the cell is removed' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOCK TABLE cells IN SHARE ROW EXCLUSIVE MODE;
    SELECT c.regions INTO had FROM ops.cells c WHERE c.cell = remove_cell.cell;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM cells c WHERE c.cell = remove_cell.cell;
    INSERT INTO events (kind, actor, detail) VALUES ('cell.removed', acting_operator(),
        jsonb_build_object('cell', remove_cell.cell, 'regions', to_jsonb(had), 'reason', btrim(remove_cell.reason)));
    RETURN true;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.remove_cell(text, text) IS 'Forgets another cell: its regions are served here from then on. Returns whether there was one of the name.';
REVOKE EXECUTE ON FUNCTION ops.set_cell, ops.remove_cell FROM PUBLIC;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP FUNCTION ops.remove_cell;
DROP FUNCTION ops.set_cell;
DROP VIEW ops.game_regions;
DROP VIEW ops.cells;
DROP TABLE cell_regions;
DROP TABLE cells;
