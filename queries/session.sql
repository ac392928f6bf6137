-- name: ResolveSeats :many
-- Returns the endpoints of seats, for all calls of a batch, and extends the seats' expiry so that the players can use their
-- tokens: where the instance reports seats, until the token has expired, plus a grace period; where it does not, for much
-- longer. It does not lock the sessions, so it must not wait for seats: it skips locked ones, whose calls stay for the next
-- batch.
WITH asked AS (
    SELECT unnest(@handles::text[]) AS handle, unnest(@subs::text[]) AS sub
), found AS MATERIALIZED ( -- so that seats are looked up by primary key, however few the planner expects
    SELECT a.handle, a.sub, f.id, f.endpoint, f.max_players, f.reports_seats FROM asked a CROSS JOIN LATERAL (
        SELECT v.id, v.endpoint, v.max_players, v.reports_seats FROM live_sessions v WHERE v.region = @region AND v.handle = a.handle
        LIMIT 1) f -- a handle is unique; LIMIT makes the planner look up the handles one by one
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
-- Why ResolveSeats returned no row: the session is live and has no seat for the player, or a locked one; it has ended, which is
-- known for @memory; or it never existed.
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
-- Whether a session that is not live has existed: it ended within @memory, or the reaper has not closed it yet.
SELECT (EXISTS (SELECT 1 FROM sessions s WHERE s.region = @region AND s.id = @id)
     OR EXISTS (SELECT 1 FROM session_history h WHERE h.region = @region AND h.id = @id
                AND h.closed_at > now() - sqlc.arg(memory)::interval))::bool AS ended;

-- name: CloseSessions :many
SELECT close_sessions(@region, @ids::uuid[], @reason)::uuid AS id;

-- name: CloseEmptySessions :many
-- Closes those of the named sessions that are empty. The caller has locked them.
SELECT close_sessions(@region, ARRAY(
    SELECT s.id FROM sessions s WHERE s.region = @region AND s.id = ANY (@ids::uuid[]) AND s.player_count = 0), 'empty')::uuid AS id;
