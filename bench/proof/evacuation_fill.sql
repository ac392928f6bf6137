-- Game servers ($1) with matches ($2 each), whose players have a seat, and whose tickets are in the history. One transaction, since each part of a
-- file has all arguments.
INSERT INTO instance_directory (instance_id, region, incarnation) SELECT 'lost-' || n, 'lost', gen_random_uuid() FROM generate_series(1, $1::int) n;
INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, reserved_seats, open_sessions)
SELECT d.region, d.instance_id, d.incarnation, d.instance_id || ':7000', '{lost}', 10000, 10000, 10 * $2::int, $2::int
FROM instance_directory d WHERE d.instance_id LIKE 'lost-%';
INSERT INTO instance_leases (region, instance_id, incarnation, heartbeat_at, load)
SELECT d.region, d.instance_id, d.incarnation, now(), 0 FROM instance_directory d WHERE d.instance_id LIKE 'lost-%';
INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players, match_id)
SELECT d.region, gen_random_uuid(), 'lost.' || gen_random_uuid(), 'lost', d.instance_id, d.incarnation, 10, 10, gen_random_uuid()
FROM instance_directory d CROSS JOIN generate_series(1, $2::int) WHERE d.instance_id LIKE 'lost-%';
INSERT INTO matches (region, id, universe, profile, version, state, session_id, roster, tickets)
SELECT s.region, s.match_id, 'global', 'lost', 1, 'playing', s.id, r.roster, r.tickets
FROM sessions s CROSS JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object('sub', s.id || '-' || n, 'ticket', s.id || '-' || n / 2)) AS roster, array_agg(DISTINCT s.id || '-' || n / 2) AS tickets
    FROM generate_series(0, 9) n) r
WHERE s.region = 'lost';
INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, match_id)
SELECT s.region, s.id, s.id || '-' || n, s.mode, gen_random_uuid(), s.id || '-' || n, now() + interval '1 hour', s.match_id
FROM sessions s CROSS JOIN generate_series(0, 9) n WHERE s.region = 'lost';
INSERT INTO ticket_history (region, id, created, left_at, profiles, party, attributes, latencies, outcome, profile, match_id)
SELECT 'global', s.id || '-' || n, now() - random() * interval '10 minutes', now(), '{lost}', ARRAY[s.id || '-' || 2 * n, s.id || '-' || 2 * n + 1],
       jsonb_build_object(s.id || '-' || 2 * n, '{"skill": 1500}'::jsonb, s.id || '-' || 2 * n + 1, '{"skill": 1600}'::jsonb), '{"lost": 20, "eu": 70}',
       'assigned', 'lost', s.match_id
FROM sessions s CROSS JOIN generate_series(0, 4) n WHERE s.region = 'lost';
ANALYZE;
