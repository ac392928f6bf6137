-- Returns the seat that the caller already has for this party, else seats in the fullest open session that is not locked. No
-- row: there is neither. FOR NO KEY UPDATE, unlike FOR UPDATE, does not block checks of foreign keys.
WITH held AS (
    SELECT v.id, v.handle, v.endpoint, v.player_count
    FROM (
        SELECT st.session_id FROM seats st
        WHERE st.region = $1 AND st.sub = $4 AND st.mode = $2 AND st.party = $5 AND st.state = 'reserved'
        UNION ALL
        SELECT st.session_id FROM seats st
        WHERE st.region = $1 AND st.sub = $4 AND st.mode = $2 AND st.party = $5 AND st.state = 'connected'
    ) seat JOIN live_sessions v ON v.region = $1 AND v.id = seat.session_id AND v.max_players = $3
    LIMIT 1
), room AS (
    SELECT s.id FROM sessions s
    WHERE s.region = $1 AND s.mode = $2 AND s.max_players = $3
      AND s.player_count < s.max_players AND s.player_count <= $3 - cardinality($6::text[])
      AND (SELECT i.incarnation = s.incarnation AND i.status = 'ready' AND l.heartbeat_at > (SELECT lease_horizon())
           FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
           WHERE i.region = s.region AND i.id = s.instance_id)
      AND NOT EXISTS (SELECT FROM held)
    ORDER BY s.player_count DESC, s.id LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
), filled AS (
    UPDATE sessions s SET player_count = s.player_count + cardinality($6::text[])
    FROM room WHERE s.region = $1 AND s.id = room.id
    RETURNING s.id, s.handle, s.instance_id, s.player_count
), seated AS (
    INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, look_at)
    SELECT $1, f.id, p.sub, $2, $5, $4, now() + $7::interval, now() + $7::interval
    FROM filled f, unnest($6::text[]) AS p(sub) ORDER BY p.sub
)
SELECT id, handle, endpoint, player_count FROM held
UNION ALL
SELECT f.id, f.handle, i.endpoint, f.player_count FROM filled f JOIN instances i ON i.region = $1 AND i.id = f.instance_id;
