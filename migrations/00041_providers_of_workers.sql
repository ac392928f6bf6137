-- What processes have that others count on, and nothing said: the providers of workers, without which the servers of pools do not start, and the
-- key-encryption keys, without which the game servers that authenticate by one are refused.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- NULL: the process is of an older release, and does not say it.
ALTER TABLE process_reports ADD COLUMN providers text[], ADD COLUMN key_encryption_keys text[];

CREATE OR REPLACE VIEW ops.process_reports AS
SELECT process, reported_at, statement_timestamp() - reported_at AS age, troubles, providers, key_encryption_keys FROM process_reports;
COMMENT ON COLUMN ops.process_reports.providers IS 'The providers through which its worker starts game servers; none for a process without a worker. NULL: it is of an older release.';
COMMENT ON COLUMN ops.process_reports.key_encryption_keys IS 'The fingerprints of its key-encryption keys, as in ops.key_encryption_keys; the first seals. NULL: it is of an older release.';

CREATE VIEW ops.providers AS
SELECT n.provider,
       (SELECT count(*) FROM process_reports r WHERE n.provider = ANY (r.providers) AND r.reported_at > statement_timestamp() - interval '1 minute') AS workers,
       (SELECT count(*) FROM pools p JOIN app_versions v ON v.app = p.app AND v.version = p.version WHERE v.provider = n.provider) AS pools,
       d.deployments, d.overdue
FROM (SELECT v.provider COLLATE "default" AS provider FROM app_versions v UNION SELECT unnest(r.providers) FROM process_reports r) n
CROSS JOIN LATERAL (
    SELECT count(*) AS deployments,
           count(*) FILTER (WHERE x.next_at < statement_timestamp() - interval '30 seconds'
               AND coalesce(x.leased_until, '-infinity') < statement_timestamp() - interval '30 seconds') AS overdue
    FROM deployments x WHERE x.provider = n.provider) d;
COMMENT ON VIEW ops.providers IS 'The providers that app versions or workers have.';
COMMENT ON COLUMN ops.providers.provider IS 'The provider.';
COMMENT ON COLUMN ops.providers.workers IS 'How many processes have a worker with it, by their reports of the last minute. Workers of older releases do not report it.';
COMMENT ON COLUMN ops.providers.pools IS 'How many pools have servers of it.';
COMMENT ON COLUMN ops.providers.deployments IS 'How many servers of it there are, in any phase.';
COMMENT ON COLUMN ops.providers.overdue IS 'How many of these have waited for a worker for more than 30 seconds: no worker has the provider, or all of them are busy.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.providers, ops.process_reports;
ALTER TABLE process_reports DROP COLUMN providers, DROP COLUMN key_encryption_keys;
CREATE VIEW ops.process_reports AS
SELECT process, reported_at, statement_timestamp() - reported_at AS age, troubles FROM process_reports;
COMMENT ON VIEW ops.process_reports IS 'Replicas and workers as they report of themselves, every few seconds. One that ends without shutting down, is frozen, or cannot write keeps its last report for an hour.';
COMMENT ON COLUMN ops.process_reports.process IS 'What it does, its host and its process id, as in: director serve host-1/7. ops.processes has its connections.';
COMMENT ON COLUMN ops.process_reports.reported_at IS 'When it last wrote its report.';
COMMENT ON COLUMN ops.process_reports.age IS 'How long ago that was.';
COMMENT ON COLUMN ops.process_reports.troubles IS 'What does not work in this process and cannot be seen from outside, such as a key set without a usable key: objects with subject, says, do and section, the heading in docs/operators.md.';
