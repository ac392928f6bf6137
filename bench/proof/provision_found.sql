-- Seconds from the end of the lease of the server that died until its instance was ended.
SELECT extract(epoch FROM e.at - b.at - (SELECT lease_ttl FROM fleet_clock))::float8 AS "found after"
FROM bench_died b JOIN events e ON e.region = b.region AND e.instance_id = b.instance_id AND e.kind = 'instance.ended';
