-- Matches that the shadow of a profile would have made, and those of the live version, for comparison.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- The latest matches of both, at most 10,000 each: n numbers them, and the oldest of a side are deleted. Not logged: after a crash the
-- comparison begins again. measures: the value of each rule, and latency_ms, fill and players.
CREATE UNLOGGED TABLE shadow_matches (
    region     text NOT NULL,
    profile    text COLLATE "C" NOT NULL,
    side       text COLLATE "C" NOT NULL,
    n          bigint NOT NULL,
    live       integer NOT NULL,
    shadow     integer NOT NULL,
    decided_at timestamptz NOT NULL,
    measures   jsonb NOT NULL,
    PRIMARY KEY (region, profile, side, n),
    CONSTRAINT a_shadow_is_compared_with_the_live_version CHECK (side IN ('live', 'shadow'))
);

CREATE VIEW ops.shadow_quality AS
SELECT v.region, v.profile, v.side, v.version, v.measure, count(*) AS matches, avg(v.value) AS mean,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY v.value) AS p50, percentile_cont(0.9) WITHIN GROUP (ORDER BY v.value) AS p90,
       min(v.decided_at) AS since, max(v.decided_at) AS until
FROM (
    SELECT s.region, s.profile, s.side, CASE s.side WHEN 'live' THEN s.live ELSE s.shadow END AS version, s.decided_at,
           k.measure, (s.measures->>k.measure)::float8 AS value
    FROM shadow_matches s
    JOIN profiles p ON p.region = s.region AND p.name = s.profile AND p.live = s.live AND p.shadow = s.shadow AND p.retired_at IS NULL
    CROSS JOIN LATERAL (SELECT jsonb_object_keys(s.measures) AS measure) k) v
GROUP BY v.region, v.profile, v.side, v.version, v.measure;
COMMENT ON VIEW ops.shadow_quality IS 'Matches that the shadow of a profile would have made, and those of the live version: the latest 10,000 of each, at most 100 a second, since the shadow began. Tickets leave with the live matches, so only the quality of matches can be compared, not waiting times.';
COMMENT ON COLUMN ops.shadow_quality.region IS 'The region that is the universe of the tickets.';
COMMENT ON COLUMN ops.shadow_quality.profile IS 'The profile.';
COMMENT ON COLUMN ops.shadow_quality.side IS 'live or shadow.';
COMMENT ON COLUMN ops.shadow_quality.version IS 'The version of the profile on that side.';
COMMENT ON COLUMN ops.shadow_quality.measure IS 'The id of a rule, or latency_ms (of the worst player), fill (players for each seat) or players.';
COMMENT ON COLUMN ops.shadow_quality.matches IS 'How many matches have this measure.';
COMMENT ON COLUMN ops.shadow_quality.mean IS 'Its mean.';
COMMENT ON COLUMN ops.shadow_quality.p50 IS 'Its median.';
COMMENT ON COLUMN ops.shadow_quality.p90 IS 'What nine tenths of the matches do not exceed.';
COMMENT ON COLUMN ops.shadow_quality.since IS 'When the first of these matches was decided.';
COMMENT ON COLUMN ops.shadow_quality.until IS 'When the last of these matches was decided.';

-- +goose Down
DROP VIEW ops.shadow_quality;
DROP TABLE shadow_matches;
