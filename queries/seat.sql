-- name: ReleaseSeats :many
-- Frees seats, in sessions that this transaction has locked, and moves them to history. Connected seats are freed only with
-- @even_connected: a player may have connected meanwhile to a seat that is given up.
WITH named AS (
    SELECT unnest(@session_ids::uuid[]) AS session_id, unnest(@subs::text[]) AS sub
), locked AS (
    SELECT st.session_id, st.sub FROM seats st JOIN named n ON n.session_id = st.session_id AND n.sub = st.sub
    WHERE st.region = @region AND (st.state = 'reserved' OR @even_connected::bool)
    ORDER BY st.session_id, st.sub FOR UPDATE OF st
), gone AS (
    DELETE FROM seats st USING locked k
    WHERE st.region = @region AND st.session_id = k.session_id AND st.sub = k.sub
    RETURNING st.region, st.session_id, st.sub, st.mode, st.party, st.reserved_by, st.reserved_at, st.resolved_at, st.connected_at, st.jti,
              st.match_id, st.team
), kept AS (
    INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, resolved_at, connected_at, jti, reason, match_id, team)
    SELECT g.region, g.session_id, g.sub, g.mode, g.party, g.reserved_by, g.reserved_at, g.resolved_at, g.connected_at, g.jti, @reason, g.match_id, g.team
    FROM gone g
), shrunk AS (
    UPDATE sessions s SET player_count = s.player_count - f.n
    FROM (SELECT g.session_id, count(*) AS n FROM gone g GROUP BY g.session_id) f
    WHERE s.region = @region AND s.id = f.session_id
)
SELECT g.session_id, g.sub FROM gone g;

-- name: LockReportedSessions :many
-- Locks the sessions of a batch of reports, in the order of their ids. The instance, the incarnation and live fence the reports:
-- only that live incarnation may report on the session.
SELECT s.id, s.instance_id, s.incarnation, s.mode, s.player_count, s.max_players, i.reports_seats,
       (i.incarnation = s.incarnation AND i.status <> 'gone' AND coalesce(l.heartbeat_at > (SELECT lease_horizon()), false))::bool AS live
FROM sessions s
JOIN instances i ON i.region = s.region AND i.id = s.instance_id
LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
WHERE s.region = @region AND s.id = ANY (@ids::uuid[])
ORDER BY s.id FOR NO KEY UPDATE OF s;

-- name: ReportedSeats :many
-- The seats of reported players, and whether a player without a seat had one in this session before. The connection is empty
-- when the game server named none, or when a replica of the previous release has connected the seat since.
SELECT n.session_id::uuid AS session_id, n.sub::text AS sub, coalesce(st.state, '')::text AS state,
       coalesce(CASE WHEN st.connection_jti = st.jti THEN st.connection END, '')::text AS connection,
       (CASE WHEN st.sub IS NOT NULL THEN true ELSE EXISTS (
           SELECT 1 FROM seat_history h WHERE h.region = @region AND h.session_id = n.session_id AND h.sub = n.sub) END)::bool AS had_one
FROM (SELECT unnest(@session_ids::uuid[]) AS session_id, unnest(@subs::text[]) AS sub) n
LEFT JOIN seats st ON st.region = @region AND st.session_id = n.session_id AND st.sub = n.sub;

-- name: RedeemTokens :many
-- Stores token ids until no token with that id can be valid, and returns those that are new.
INSERT INTO redeemed_tokens (region, jti, session_id, sub, expires_at)
SELECT @region, n.jti, n.session_id, n.sub, now() + sqlc.arg(memory)::interval
FROM (SELECT unnest(@jtis::text[]) AS jti, unnest(@session_ids::uuid[]) AS session_id, unnest(@subs::text[]) AS sub) n
ORDER BY n.jti
ON CONFLICT (region, jti) DO NOTHING
RETURNING jti;

-- name: RedeemedTokens :many
SELECT jti, session_id, sub FROM redeemed_tokens WHERE region = @region AND jti = ANY (@jtis::text[]);

-- name: ConnectSeats :exec
-- Marks seats as connected. A seat that was freed is inserted again, as that of a party of one which reserved it for itself, in the
-- team of the freed seat, which is in history. From now on the connection that redeemed the token holds the seat; when it has no
-- name (empty), any connection of the player does.
WITH named AS (
    SELECT unnest(@session_ids::uuid[]) AS session_id, unnest(@subs::text[]) AS sub, unnest(@jtis::text[]) AS jti,
           unnest(@modes::text[]) AS mode, unnest(@parties::uuid[]) AS party, nullif(unnest(@connections::text[]), '') AS connection
), seated AS (
    INSERT INTO seats (region, session_id, sub, mode, state, party, reserved_by, connected_at, jti, connection, connection_jti, match_id, team)
    SELECT @region, n.session_id, n.sub, n.mode, 'connected', n.party, n.sub, now(), n.jti, n.connection,
           CASE WHEN n.connection IS NOT NULL THEN n.jti END, o.match_id, CASE WHEN o.match_id IS NOT NULL THEN (
               SELECT h.team FROM seat_history h WHERE h.region = @region AND h.session_id = n.session_id AND h.sub = n.sub AND h.match_id = o.match_id
               ORDER BY h.left_at DESC LIMIT 1) END
    FROM named n CROSS JOIN LATERAL (SELECT s.match_id FROM sessions s WHERE s.region = @region AND s.id = n.session_id OFFSET 0) o
    ORDER BY n.session_id, n.sub
    ON CONFLICT (region, session_id, sub) DO UPDATE SET
        state = 'connected', jti = excluded.jti, expires_at = NULL, connected_at = coalesce(seats.connected_at, excluded.connected_at),
        connection = excluded.connection, connection_jti = excluded.connection_jti
    RETURNING session_id, (xmax = 0)::bool AS again
)
UPDATE sessions s SET player_count = s.player_count + f.n
FROM (SELECT x.session_id, count(*) AS n FROM seated x WHERE x.again GROUP BY x.session_id) f
WHERE s.region = @region AND s.id = f.session_id;

-- name: StartReporting :many
-- Marks instances that report seats for the first time. From now on their resolved seats expire with their tokens.
UPDATE instances SET reports_seats = true
WHERE region = @region AND id = ANY (@instance_ids::text[]) AND NOT reports_seats
RETURNING id;

-- name: ExpireSeatsWithTokens :exec
-- Brings the expiry of resolved seats forward to that of their tokens, once StartReporting has committed. It does not lock the
-- sessions, so it must not wait for seats (as ResolveSeats): a seat that it skips is held for longer than needed.
WITH locked AS (
    SELECT st.session_id, st.sub FROM seats st JOIN sessions s ON s.region = st.region AND s.id = st.session_id
    WHERE s.region = @region AND s.instance_id = ANY (@instance_ids::text[]) AND st.state <> 'connected' AND st.resolved_at IS NOT NULL
    FOR NO KEY UPDATE OF st SKIP LOCKED
)
UPDATE seats st SET
    expires_at = least(st.expires_at, now() + sqlc.arg(token_hold)::interval),
    look_at = least(st.look_at, now() + sqlc.arg(token_hold)::interval)
FROM locked k WHERE st.region = @region AND st.session_id = k.session_id AND st.sub = k.sub;

-- name: LockSessionsToLookAt :many
-- Locks sessions with unconnected seats whose look_at has come. It skips locked sessions, which a later call finds.
SELECT s.id FROM sessions s
WHERE s.region = @region AND s.id = ANY (ARRAY(
    SELECT st.session_id FROM seats st
    WHERE st.region = @region AND st.state = 'reserved' AND st.look_at > '-infinity' AND st.look_at <= now() ORDER BY st.look_at LIMIT @batch))
ORDER BY s.id FOR NO KEY UPDATE SKIP LOCKED;

-- name: ExpiredSeats :many
-- Checks again under the lock of the session.
SELECT session_id, sub FROM seats
WHERE region = @region AND session_id = ANY (@session_ids::uuid[]) AND state <> 'connected' AND expires_at <= now();

-- name: PostponeLookAt :execrows
-- Postpones look_at of seats that were resolved meanwhile and so expire later: by at most five minutes, because an expiry can
-- also become earlier, when an instance begins to report. It skips locked rows, as ResolveSeats does.
WITH locked AS (
    SELECT st.session_id, st.sub FROM seats st
    WHERE st.region = @region AND st.session_id = ANY (@session_ids::uuid[]) AND st.state <> 'connected' AND st.look_at <= now() AND st.expires_at > now()
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE seats st SET look_at = least(st.expires_at, now() + interval '5 minutes')
FROM locked k WHERE st.region = @region AND st.session_id = k.session_id AND st.sub = k.sub;

-- name: PruneRedeemedTokens :execrows
DELETE FROM redeemed_tokens WHERE (region, jti) IN (
    SELECT r.region, r.jti FROM redeemed_tokens r WHERE r.region = @region AND r.expires_at <= now()
    ORDER BY r.expires_at LIMIT @batch FOR UPDATE SKIP LOCKED);
