-- $3 past sessions of eight players each, $2 days ago.
WITH day AS (
    SELECT date_trunc('day', now(), 'UTC') - make_interval(days => $2) AS begun
), past AS (
    INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, closed_at, reason)
    SELECT $1, r.id, $1 || '.' || r.id, 'bench-0', 'past-' || r.n % 10, r.id, 0, 8, day.begun + t.at - interval '20 minutes', day.begun + t.at, 'empty'
    FROM day, (SELECT gen_random_uuid() AS id, n FROM generate_series(1, $3::int) n) r,
         LATERAL (SELECT least(interval '1 day', now() - day.begun) * r.n / ($3::int + 1) AS at) t
    RETURNING region, id, mode, opened_at, closed_at
)
INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, left_at, reason)
SELECT p.region, p.id, w.sub, p.mode, p.id, w.sub, p.opened_at, p.opened_at, p.opened_at, p.id || '-' || n, p.closed_at, 'left'
FROM past p, generate_series(1, 8) n, LATERAL (SELECT 'player-' || left(p.id::text, 5) || n AS sub) w;
