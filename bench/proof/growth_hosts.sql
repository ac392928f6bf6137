-- $2 game servers with free seats in the measured mode. They send no heartbeats: their leases last a day.
WITH hosts AS (
    INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, reports_seats)
    SELECT $1, 'planted-' || n, gen_random_uuid(), 'planted-' || n || '.invalid:7777', '{bench-0,duel}', 100000, 100000, true
    FROM generate_series(1, $2::int) n
    RETURNING region, id, incarnation, modes
), listed AS (
    INSERT INTO instance_directory (instance_id, region, incarnation) SELECT id, region, incarnation FROM hosts
), leased AS (
    INSERT INTO instance_leases (region, instance_id, incarnation, heartbeat_at, load)
    SELECT region, id, incarnation, now() + interval '1 day', 0 FROM hosts
)
INSERT INTO instance_modes (region, instance_id, mode) SELECT region, id, unnest(modes) FROM hosts;
