-- name: ResolveSeats :many
-- Gives players the way to their seats, all that asked together. From now on a seat is held until its token is used:
-- where the instance reports seats, until the token has expired and some grace; where it does not, much longer. It
-- does not hold the sessions, so it must not wait for seats: one that is just being changed is skipped, and asked for
-- again.
WITH asked AS (
    SELECT unnest(@handles::text[]) AS handle, unnest(@subs::text[]) AS sub
), found AS MATERIALIZED ( -- seats are looked up thereafter, by their whole key, however few there seem to be
    SELECT a.handle, a.sub, f.id, f.endpoint, f.max_players, f.reports_seats FROM asked a CROSS JOIN LATERAL (
        SELECT v.id, v.endpoint, v.max_players, v.reports_seats FROM live_sessions v WHERE v.region = @region AND v.handle = a.handle
        LIMIT 1) f -- a handle names one; said so, the handles are looked up one by one
), locked AS (
    SELECT st.session_id, st.sub, f.handle, f.endpoint, f.max_players, f.reports_seats
    FROM found f JOIN seats st ON st.region = @region AND st.session_id = f.id AND st.sub = f.sub
    FOR NO KEY UPDATE OF st SKIP LOCKED
)
UPDATE seats st SET
    resolved_at = coalesce(st.resolved_at, now()),
    expires_at = CASE
        WHEN st.state = 'connected' THEN st.expires_at
        WHEN locked.reports_seats THEN least(now() + sqlc.arg(token_hold)::interval, st.reserved_at + sqlc.arg(longest_hold)::interval)
        ELSE now() + sqlc.arg(unreported_hold)::interval END
FROM locked
WHERE st.region = @region AND st.session_id = locked.session_id AND st.sub = locked.sub
RETURNING st.session_id, st.sub, st.mode, st.party, locked.handle::text AS handle, locked.endpoint::text AS endpoint,
          locked.max_players::int AS max_players, now()::timestamptz AS issued_at, st.match_id, coalesce(st.team, '')::text AS team;

-- name: Unresolved :many
-- Why a resolve found no seat: the session lives (and the seat may be there after all), has ended (remembered for a
-- while), or never was.
SELECT a.handle::text AS handle, a.sub::text AS sub,
       EXISTS (SELECT 1 FROM live_sessions v WHERE v.region = @region AND v.handle = a.handle)::bool AS live,
       EXISTS (SELECT 1 FROM sessions s JOIN seats st ON st.region = s.region AND st.session_id = s.id AND st.sub = a.sub
               WHERE s.region = @region AND s.handle = a.handle)::bool AS seated,
       (EXISTS (SELECT 1 FROM sessions s WHERE s.region = @region AND s.handle = a.handle)
        OR EXISTS (SELECT 1 FROM session_history h WHERE h.region = @region AND h.handle = a.handle
                   AND h.closed_at > now() - sqlc.arg(memory)::interval))::bool AS ended
FROM (SELECT unnest(@handles::text[]) AS handle, unnest(@subs::text[]) AS sub) a;

-- name: GetSession :one
SELECT id, handle, endpoint, region, mode, player_count, max_players FROM live_sessions WHERE region = @region AND id = @id;

-- name: SessionEnded :one
-- Whether a session that does not live any more is remembered: ended within memory, or waiting for the reaper.
SELECT (EXISTS (SELECT 1 FROM sessions s WHERE s.region = @region AND s.id = @id)
     OR EXISTS (SELECT 1 FROM session_history h WHERE h.region = @region AND h.id = @id
                AND h.closed_at > now() - sqlc.arg(memory)::interval))::bool AS ended;

-- name: CloseSessions :many
SELECT close_sessions(@region, @ids::uuid[], @reason)::uuid AS id;

-- name: CloseEmptySessions :many
-- Closes those of the named sessions that are empty. The caller has locked them.
SELECT close_sessions(@region, ARRAY(
    SELECT s.id FROM sessions s WHERE s.region = @region AND s.id = ANY (@ids::uuid[]) AND s.player_count = 0), 'empty')::uuid AS id;
