-- $1 more servers of the pool, for $2 players each. Their leases last a day, and the pool wants as many as it has.
WITH servers AS (
    INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, ip, endpoint, incarnation, provider_ready_at, registered_at, ready_at,
                             drain_at, ends_at, next_at)
    SELECT 'bench', gen_random_uuid(), 'arena', '1', 'edgegap', 'quiet-' || n, 'ready', now(), 'quiet-' || n, '203.0.113.1', '203.0.113.1:5000', gen_random_uuid(),
           now(), now(), now(), now() + interval '1 day', now() + interval '1 day', now() + interval '1 day'
    FROM generate_series(1, $1::int) n
    RETURNING region, id, incarnation, endpoint
), hosts AS (
    INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, deployment_id)
    SELECT region, id::text, incarnation, endpoint, '{bench}', $2, $2, id FROM servers
), listed AS (
    INSERT INTO instance_directory (instance_id, region, incarnation) SELECT id::text, region, incarnation FROM servers
), leased AS (
    INSERT INTO instance_leases (region, instance_id, incarnation, heartbeat_at, load)
    SELECT region, id::text, incarnation, now() + interval '1 day', 0 FROM servers
), modes AS (
    INSERT INTO instance_modes (region, instance_id, mode) SELECT region, id::text, 'bench' FROM servers
)
UPDATE pools SET min_servers = $1 + (SELECT count(*) FROM deployments);
