-- A fleet of $2 game servers, all of incarnation $3, whose last heartbeats are dated a minute ahead.
CREATE TABLE bench_tables (name text, updates bigint, hot bigint, bytes bigint, number integer GENERATED ALWAYS AS IDENTITY);
WITH hosts AS (
    INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, reports_seats)
    SELECT $1, 'fleet-' || n, $3::uuid, 'fleet-' || n || '.invalid:7777', '{duel,race}', 200, 200, true
    FROM generate_series(0, $2::int - 1) n
    RETURNING region, id, incarnation, modes
), listed AS (
    INSERT INTO instance_directory (instance_id, region, incarnation) SELECT id, region, incarnation FROM hosts
), leased AS (
    INSERT INTO instance_leases (region, instance_id, incarnation, heartbeat_at, load)
    SELECT region, id, incarnation, now() + interval '1 minute', 0 FROM hosts
)
INSERT INTO instance_modes (region, instance_id, mode) SELECT region, id, unnest(modes) FROM hosts;
