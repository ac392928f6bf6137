-- Where clients measure the latency to a game region, and what the director knows of players' latencies.
--
-- Releases before this one neither read nor write the tables.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Operators set a row for each region; there are at most 256. A table of its own, since a region may have no game server yet.
CREATE TABLE region_beacons (
    region text PRIMARY KEY,
    url    text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    set_by text NOT NULL,
    CONSTRAINT a_beacon_is_of_a_region CHECK (region ~ '^[a-z0-9-]{1,32}$'),
    CONSTRAINT a_beacon_is_a_url_of_http CHECK (url ~ '^https?://[^[:space:][:cntrl:]]+$' AND octet_length(url) <= 512)
);

CREATE VIEW ops.beacons AS SELECT b.region, b.url, b.set_at, b.set_by FROM region_beacons b;
COMMENT ON VIEW ops.beacons IS 'Where clients measure the latency to a game region.';
COMMENT ON COLUMN ops.beacons.region IS 'The game region.';
COMMENT ON COLUMN ops.beacons.url IS 'The URL that clients fetch several times to measure.';
COMMENT ON COLUMN ops.beacons.set_at IS 'When an operator set it.';
COMMENT ON COLUMN ops.beacons.set_by IS 'Who set it.';

-- +goose StatementBegin
CREATE FUNCTION ops.set_beacon(region text, url text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    changed boolean;
BEGIN
    IF set_beacon.region !~ '^[a-z0-9-]{1,32}$' THEN
        RAISE EXCEPTION 'a region is 1 to 32 characters of a-z 0-9 -' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF set_beacon.url IS NULL THEN
        DELETE FROM region_beacons b WHERE b.region = set_beacon.region;
        changed := FOUND;
    ELSE
        IF set_beacon.url !~ '^https?://[^[:space:][:cntrl:]]+$' OR octet_length(set_beacon.url) > 512 THEN
            RAISE EXCEPTION 'a beacon is a URL of http or https of at most 512 bytes, or NULL for none' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        IF (SELECT count(*) FROM region_beacons b WHERE b.region <> set_beacon.region) >= 256 THEN
            RAISE EXCEPTION 'there are 256 beacons: remove one first' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        INSERT INTO region_beacons AS b (region, url, set_by) VALUES (set_beacon.region, set_beacon.url, acting_operator())
        ON CONFLICT ON CONSTRAINT region_beacons_pkey DO UPDATE SET url = excluded.url, set_at = excluded.set_at, set_by = excluded.set_by
        WHERE b.url <> excluded.url;
        changed := FOUND;
    END IF;
    IF changed THEN
        INSERT INTO events (region, kind, actor, detail)
        VALUES (set_beacon.region, 'region.beacon_set', acting_operator(), jsonb_build_object('url', set_beacon.url));
    END IF;
    RETURN changed;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.set_beacon(text, text) IS 'Sets the URL that clients fetch to measure the latency to a game region; NULL removes it. Returns whether this changed anything.';
REVOKE EXECUTE ON FUNCTION ops.set_beacon FROM PUBLIC;

-- The latencies that counted for a player, where a profile bounds how far they jump. A region is a universe. A row changes at most once an hour, and
-- is forgotten after a day without a change, so it is small: 64 names and numbers.
CREATE TABLE player_latencies (
    region      text NOT NULL,
    sub         text NOT NULL,
    latencies   jsonb NOT NULL,  -- milliseconds by game region
    measured_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (region, sub),
    CONSTRAINT latencies_are_an_object_of_4_kib CHECK (jsonb_typeof(latencies) = 'object' AND octet_length(latencies::text) <= 4096)
);
CREATE INDEX player_latencies_by_time ON player_latencies (measured_at);

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP TABLE player_latencies;
DROP FUNCTION ops.set_beacon;
DROP VIEW ops.beacons;
DROP TABLE region_beacons;
