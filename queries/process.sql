-- What processes of the director report of themselves, and the test whether the database takes writes.

-- name: ReportProcess :exec
INSERT INTO process_reports (process, troubles, providers, key_encryption_keys) VALUES (@process, @troubles, @providers, @key_encryption_keys)
ON CONFLICT (process) DO UPDATE SET reported_at = clock_timestamp(), troubles = excluded.troubles, providers = excluded.providers,
    key_encryption_keys = excluded.key_encryption_keys;

-- name: SpillToDisk :one
-- Writes 256 KiB to a temporary file, which Postgres deletes at the end of the statement. The update of a row fits into space that the
-- database already has, so that it alone does not find a full disk; a new row of a table that has no free space would.
SELECT set_config('work_mem', '64kB', true) IS NOT NULL
   AND (SELECT count(*) FROM unnest(array_fill(repeat('x', 8192), ARRAY[32])) AS f(page)) > 0 AS spilled;

-- name: EndProcess :exec
DELETE FROM process_reports WHERE process = @process;

-- name: ForgetProcesses :execrows
DELETE FROM process_reports WHERE reported_at < clock_timestamp() - interval '1 hour';
