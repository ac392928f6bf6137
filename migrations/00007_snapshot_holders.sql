-- In Postgres 18, pg_stat_activity lists a client that is still logging in, with a snapshot and without a database.
-- ops.oldest_snapshot counted it, whichever database it was for. Of the rows without a database, only the feedback of a standby
-- (walsender) prevents vacuum from removing rows.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION ops.snapshot_holders() RETURNS TABLE (kind text, holder text, since timestamptz, transactions integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT 'transaction', format('pid %s, %s, %s', pid, usename, coalesce(nullif(application_name, ''), 'no application name')),
           xact_start, greatest(age(backend_xmin), age(backend_xid))
    FROM pg_stat_activity
    WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND pid <> pg_backend_pid()
      AND (datname = current_database() OR (datname IS NULL AND backend_type = 'walsender'))
      AND backend_type IS DISTINCT FROM 'autovacuum worker' -- vacuum ignores the snapshots of other vacuums
    UNION ALL
    SELECT 'prepared transaction', gid, prepared, age(transaction) FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL
    SELECT 'replication slot', slot_name::text, NULL, age(xmin) FROM pg_replication_slots WHERE xmin IS NOT NULL
$$;
-- +goose StatementEnd

-- +goose Down
-- The old function counted too much, so the new one stays. Going down further, 00002 drops it.
