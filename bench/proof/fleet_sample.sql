-- The tables that heartbeats update, as they are now: at first, when they have settled, at last.
INSERT INTO bench_tables
SELECT relname, n_tup_upd, n_tup_hot_upd, pg_table_size(relid) + pg_indexes_size(relid)
FROM pg_stat_user_tables WHERE relname IN ('instance_leases', 'instance_modes');
