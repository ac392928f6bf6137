-- Which versions of a profile have been live: a rollback that names no version must not choose one that was a shadow only.
--
-- Versions from before this migration count as live, as do those that an earlier release stores: the log of events knows better, but not for long.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
ALTER TABLE profile_versions ADD COLUMN was_live boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN profile_versions.was_live IS 'whether it has ever been live, and not the shadow only';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
ALTER TABLE profile_versions DROP COLUMN was_live;
