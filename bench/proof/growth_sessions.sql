-- $2 open sessions with connected players. Sixteen in seventeen are full, with two to sixteen players. The others have free
-- seats, but in another mode or of another size than the measured ones. Their game servers are full: the load registers its own.
WITH hosts AS (
    INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, reports_seats)
    SELECT $1, 'full-' || n, gen_random_uuid(), 'full-' || n || '.invalid:7777', '{bench-0,duel,race}', 100000, 100000, true
    FROM generate_series(0, 19) n
    RETURNING region, id, incarnation
), listed AS (
    INSERT INTO instance_directory (instance_id, region, incarnation) SELECT id, region, incarnation FROM hosts
), leased AS (
    INSERT INTO instance_leases (region, instance_id, incarnation, heartbeat_at, load)
    SELECT region, id, incarnation, now() + interval '1 day', 0.9 FROM hosts
), planned AS (
    SELECT gen_random_uuid() AS id, n, n % 17 = 0 AS has_room, 2 << n % 4 AS places, (ARRAY['duel', 'race', 'bench-0'])[1 + n % 3] AS fun
    FROM generate_series(1, $2::int) n
), opened AS (
    INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at)
    SELECT h.region, p.id, 'planted-' || p.n, CASE WHEN p.has_room THEN p.fun ELSE 'bench-0' END, h.id, h.incarnation,
           CASE WHEN p.has_room THEN p.places / 2 ELSE p.places END,
           CASE WHEN p.has_room AND p.fun = 'bench-0' AND p.places = 8 THEN 9 ELSE p.places END, now() - interval '5 minutes'
    FROM planned p JOIN hosts h ON h.id = 'full-' || p.n % 20
    RETURNING *
)
INSERT INTO seats (region, session_id, sub, mode, state, party, reserved_by, reserved_at, resolved_at, connected_at, jti)
SELECT s.region, s.id, s.handle || '-' || n, s.mode, 'connected', s.id, s.handle || '-' || n, s.opened_at, s.opened_at, s.opened_at, s.id || '-' || n
FROM opened s, generate_series(1, s.player_count) n;
UPDATE instances i SET open_sessions = s.sessions, reserved_seats = s.seats, capacity = s.seats, seat_ceiling = s.seats
FROM (SELECT region, instance_id, count(*) AS sessions, sum(max_players) AS seats FROM sessions GROUP BY 1, 2) s
WHERE i.region = s.region AND i.id = s.instance_id;
INSERT INTO instance_modes (region, instance_id, mode, load_bucket, share_bucket)
SELECT i.region, i.id, m.mode, load_bucket(0.9), share_bucket(i) FROM instances i, unnest(i.modes) AS m(mode) WHERE i.id LIKE 'full-%';
