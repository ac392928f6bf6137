-- Demand of two universes: the key of a row ends with the universe of its matches.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Two universes may have profiles of the same name. The universe is part of the key's text, so that workers of the release before
-- find and delete the rows of their profiles as they did.
CREATE OR REPLACE VIEW ops.demand AS
SELECT d.region, d.mode, split_part(d.key, '/', 1) AS profile, split_part(d.key, '/', 2)::int AS seats, d.matches, d.players, d.since, d.updated_at,
       nullif(split_part(d.key, '/', 3), '') AS universe
FROM demand d;
COMMENT ON COLUMN ops.demand.region IS 'The game region that is best for these matches; while no game server offers the mode, the region nearest to their players, empty where they measured none.';
COMMENT ON COLUMN ops.demand.universe IS 'The region that is the universe of the tickets; NULL in rows of an older worker.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.demand;
CREATE VIEW ops.demand AS
SELECT d.region, d.mode, split_part(d.key, '/', 1) AS profile, split_part(d.key, '/', 2)::int AS seats, d.matches, d.players, d.since, d.updated_at
FROM demand d;
COMMENT ON VIEW ops.demand IS 'Matches that wait for a server, by game region, mode and size.';
COMMENT ON COLUMN ops.demand.region IS 'The game region that is best for these matches.';
COMMENT ON COLUMN ops.demand.mode IS 'The mode that a server must offer.';
COMMENT ON COLUMN ops.demand.profile IS 'The profile that made the matches.';
COMMENT ON COLUMN ops.demand.seats IS 'The seats that a session of them has.';
COMMENT ON COLUMN ops.demand.matches IS 'How many matches wait.';
COMMENT ON COLUMN ops.demand.players IS 'How many players wait in them.';
COMMENT ON COLUMN ops.demand.since IS 'When the first of them began to wait.';
COMMENT ON COLUMN ops.demand.updated_at IS 'When a worker last counted them. It counts every second.';
