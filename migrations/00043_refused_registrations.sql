-- Why the server of a deployment was refused when it registered: only the server saw the answer, and its log is at its provider.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE deployments ADD COLUMN refused text, ADD COLUMN refused_at timestamptz;

CREATE OR REPLACE VIEW ops.deployments AS
SELECT d.region, d.id AS deployment, d.app, d.version, d.provider, d.phase, d.desired, d.origin, d.ref, d.tag, d.location, d.endpoint,
       coalesce(i.open_sessions, 0) AS open_sessions, coalesce(i.reserved_seats, 0) AS reserved_seats,
       statement_timestamp() - d.created_at AS age, d.created_at, d.attempt AS attempts, d.intent_at, d.provider_ready_at, d.registered_at, d.ready_at, d.lost_at, d.drain_at, d.ends_at, d.stop_at,
       d.next_at, d.boots, d.reason, d.last_error, d.claimed_ref, d.refused, d.refused_at
FROM deployments d
LEFT JOIN instances i ON i.region = d.region AND i.id = d.id::text AND i.status <> 'gone';
COMMENT ON COLUMN ops.deployments.refused IS 'Why a registration of its server was last refused, with the code of the answer. NULL: none was.';
COMMENT ON COLUMN ops.deployments.refused_at IS 'When that was, to ten seconds. If later than registered_at, the server has not registered since.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.deployments;
CREATE VIEW ops.deployments AS
SELECT d.region, d.id AS deployment, d.app, d.version, d.provider, d.phase, d.desired, d.origin, d.ref, d.tag, d.location, d.endpoint,
       coalesce(i.open_sessions, 0) AS open_sessions, coalesce(i.reserved_seats, 0) AS reserved_seats,
       statement_timestamp() - d.created_at AS age, d.created_at, d.attempt AS attempts, d.intent_at, d.provider_ready_at, d.registered_at, d.ready_at, d.lost_at, d.drain_at, d.ends_at, d.stop_at,
       d.next_at, d.boots, d.reason, d.last_error, d.claimed_ref
FROM deployments d
LEFT JOIN instances i ON i.region = d.region AND i.id = d.id::text AND i.status <> 'gone';
ALTER TABLE deployments DROP COLUMN refused, DROP COLUMN refused_at;
