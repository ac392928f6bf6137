-- Matches that bots fill: to how many players a team is filled, which a game server reads in its roster.
--
-- Releases before this one neither write nor read the column; they cannot read a profile with fill, so that they make no such match.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
ALTER TABLE matches ADD COLUMN fill_to jsonb,
    ADD CONSTRAINT fill_to_is_an_object CHECK (jsonb_typeof(fill_to) = 'object') NOT VALID;
ALTER TABLE matches VALIDATE CONSTRAINT fill_to_is_an_object;
COMMENT ON COLUMN matches.fill_to IS 'of a match that bots fill: the number of players to which each team is filled; NULL: no bots';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
ALTER TABLE matches DROP COLUMN fill_to;
