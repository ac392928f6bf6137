-- The tables that heartbeats update.
SELECT relname::text AS name, n_tup_upd AS updates, n_tup_hot_upd AS hot, pg_table_size(relid) + pg_indexes_size(relid) AS bytes
FROM pg_stat_user_tables WHERE relname IN ('instance_leases', 'instance_modes')
