-- Servers that their provider does not know. One such answer proves nothing: a provider may know a server late. But players must not wait for a
-- server that was perhaps never started.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE deployments ADD COLUMN missing_since timestamptz; -- since when its provider has neither listed nor known it; null: it does, or was not asked

-- Whether the last Deploy of a deployment, whose answer was lost, has probably started nothing. It may yet turn up, and is looked for.
CREATE FUNCTION is_lost(d deployments) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT d.phase = 'deploying' AND d.ref IS NULL AND coalesce(d.missing_since <= now() - interval '5 seconds', false)
$$;
COMMENT ON FUNCTION is_lost(deployments) IS 'Whether the answer of the last call to start a deployment was lost, and its provider has not listed the server for 5 seconds.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP FUNCTION is_lost;
ALTER TABLE deployments DROP COLUMN missing_since;
