-- Deletes the rows of a run, so that each run starts with the same rows.

SELECT end_instance(region, id, 'measured') FROM instances WHERE id LIKE 'bench-%' AND status <> 'gone';

SELECT close_sessions(region, array_agg(id), 'measured') FROM sessions WHERE handle NOT LIKE 'planted-%' GROUP BY region;

VACUUM (ANALYZE) sessions, seats, instances, instance_leases, instance_modes, instance_directory, redeemed_tokens;
