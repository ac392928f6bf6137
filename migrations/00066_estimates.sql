-- How good the estimates of waiting times are: how many waits ended before what was published when they began.
--
-- Releases before this one neither read nor write the table.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- A row for each hour in which a profile's tickets were matched; two days are kept.
CREATE TABLE estimate_hours (
    region     text NOT NULL,
    profile    text COLLATE "C" NOT NULL,
    hour       timestamptz NOT NULL,
    waits      integer NOT NULL,
    before_p50 integer NOT NULL,
    before_p90 integer NOT NULL,
    PRIMARY KEY (region, profile, hour),
    CONSTRAINT waits_before_p50_are_before_p90 CHECK (before_p50 BETWEEN 0 AND before_p90 AND before_p90 <= waits)
) WITH (fillfactor = 50);
COMMENT ON TABLE estimate_hours IS 'How many waits of tickets that were matched ended before the p50 and p90 that were published when they began.';

CREATE VIEW ops.estimates AS
SELECT e.region, e.profile, sum(e.waits)::bigint AS waits,
       sum(e.before_p50)::float8 / sum(e.waits) AS before_p50, sum(e.before_p90)::float8 / sum(e.waits) AS before_p90
FROM estimate_hours e WHERE e.hour > statement_timestamp() - interval '24 hours'
GROUP BY e.region, e.profile;
COMMENT ON VIEW ops.estimates IS 'How good the estimates of waiting times were in the last day, by profile: half of the waits should end before p50, and nine of ten before p90.';
COMMENT ON COLUMN ops.estimates.region IS 'The region that is the universe of the tickets.';
COMMENT ON COLUMN ops.estimates.profile IS 'The profile.';
COMMENT ON COLUMN ops.estimates.waits IS 'Tickets that were matched, and had an estimate when they were queued.';
COMMENT ON COLUMN ops.estimates.before_p50 IS 'The share of them that waited for no longer than the p50 of that time: 0.5 where the estimates are right.';
COMMENT ON COLUMN ops.estimates.before_p90 IS 'The share that waited for no longer than its p90: 0.9 where they are right.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.estimates;
DROP TABLE estimate_hours;
