-- Where the servers of an app version start when its provider has no room.
--
-- Workers of the last release ignore it: their servers wait for room.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE app_versions ADD COLUMN fallback jsonb; -- provider, launch, launch_version; NULL: none
ALTER TABLE app_versions ADD CONSTRAINT a_fallback_says_what_it_starts CHECK (fallback ->> 'provider' <> '' AND fallback ->> 'launch' <> '') NOT VALID;

-- As in 00041, with the fallbacks.
CREATE OR REPLACE VIEW ops.providers AS
SELECT n.provider,
       (SELECT count(*) FROM process_reports r WHERE n.provider = ANY (r.providers) AND r.reported_at > statement_timestamp() - interval '1 minute') AS workers,
       (SELECT count(*) FROM pools p JOIN app_versions v ON v.app = p.app AND v.version = p.version WHERE v.provider = n.provider) AS pools,
       d.deployments, d.overdue
FROM (SELECT v.provider COLLATE "default" AS provider FROM app_versions v
      UNION SELECT v.fallback ->> 'provider' FROM app_versions v WHERE v.fallback IS NOT NULL
      UNION SELECT unnest(r.providers) FROM process_reports r) n
CROSS JOIN LATERAL (
    SELECT count(*) AS deployments,
           count(*) FILTER (WHERE x.next_at < statement_timestamp() - interval '30 seconds'
               AND coalesce(x.leased_until, '-infinity') < statement_timestamp() - interval '30 seconds') AS overdue
    FROM deployments x WHERE x.provider = n.provider) d;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
CREATE OR REPLACE VIEW ops.providers AS
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
ALTER TABLE app_versions DROP COLUMN fallback;
