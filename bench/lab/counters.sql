-- Counters of the database. Transactions are counted by their ids, so only those that have written: pg_stat_database is
-- updated once a second by busy connections, and later by idle ones.
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal_bytes,
       pg_snapshot_xmax(pg_current_snapshot())::text::float8       AS transactions;
