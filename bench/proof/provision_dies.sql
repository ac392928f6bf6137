-- A server's last heartbeat is that of now, and servers that send none are not spared.
UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour';

CREATE TABLE bench_died AS
SELECT d.region, d.id::text AS instance_id, now() AS at FROM deployments d WHERE d.tag = 'quiet-1';

UPDATE instance_leases l SET heartbeat_at = b.at FROM bench_died b WHERE l.region = b.region AND l.instance_id = b.instance_id;
