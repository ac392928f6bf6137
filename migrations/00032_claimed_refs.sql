-- The ref with which the server of a deployment has registered. A provider that cannot list servers does not find the one that a Deploy without an
-- answer has started: the deployment adopts the ref that its server names, once the provider confirms it.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
ALTER TABLE deployments ADD COLUMN claimed_ref text;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
ALTER TABLE deployments DROP COLUMN claimed_ref;
