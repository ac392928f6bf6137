-- What the database has done so far. Transaction ids are counted and not pg_stat_database, which busy connections add to
-- once a second and idle ones later; so transactions are those that wrote something.
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS wal_bytes,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint       AS transactions;
