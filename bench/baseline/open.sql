-- Opens a session with the party in it, on the least loaded instance with free seats that is not locked. No row: there is
-- none. It compares loads by the buckets of instance_modes, whose index makes sorting the fleet unnecessary.
WITH host AS (
    SELECT i.id, i.incarnation, i.endpoint
    FROM instance_modes m
    JOIN instances i ON i.region = m.region AND i.id = m.instance_id AND i.status = 'ready'
         AND i.capacity - i.reserved_seats >= $3 AND (i.max_sessions IS NULL OR i.open_sessions < i.max_sessions)
    JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id AND l.heartbeat_at > (SELECT lease_horizon())
    WHERE m.region = $1 AND m.mode = $2 AND m.bucket < 99
    ORDER BY m.bucket, m.instance_id LIMIT 1
    FOR NO KEY UPDATE OF i SKIP LOCKED
), opened AS (
    INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
    SELECT $1, $8, $9, $2, h.id, h.incarnation, cardinality($6::text[]), $3 FROM host h
    RETURNING id, instance_id
), taken AS (
    UPDATE instances i SET reserved_seats = i.reserved_seats + $3, open_sessions = i.open_sessions + 1
    FROM host h WHERE i.region = $1 AND i.id = h.id
    RETURNING i.id, share_bucket(i) AS share
), moved AS (
    UPDATE instance_modes m SET share_bucket = t.share
    FROM taken t WHERE m.region = $1 AND m.instance_id = t.id AND m.share_bucket <> t.share
), logged AS (
    INSERT INTO events (region, kind, instance_id, session_id, detail)
    SELECT $1, 'session.opened', o.instance_id, o.id, jsonb_build_object('mode', $2::text, 'max_players', $3::int) FROM opened o
), seated AS (
    INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, look_at)
    SELECT $1, o.id, p.sub, $2, $5, $4, now() + $7::interval, now() + $7::interval
    FROM opened o, unnest($6::text[]) AS p(sub) ORDER BY p.sub
)
SELECT endpoint FROM host;
