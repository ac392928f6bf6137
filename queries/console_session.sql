-- The console's pages of sessions and their seats.

-- name: ConsoleSessions :many
-- Returns a page of open sessions of an instance, or of a region and mode, in the order of region and id, after (@after_region, @after).
SELECT s.region, s.id, s.session::text AS session, s.mode, s.instance, s.instance_alive::bool AS instance_alive, s.players, s.connected::bigint AS connected, s.max_players,
       s.opened_at, s.match
FROM ops.sessions s
WHERE (s.region, s.id) > (@after_region::text, @after::uuid)
  AND (@region::text = '' OR s.region = @region::text) AND (@mode::text = '' OR s.mode = @mode::text)
ORDER BY s.region, s.id LIMIT @most;

-- name: ConsoleSessionsOfInstance :many
SELECT s.region, s.id, s.session::text AS session, s.mode, s.instance, s.instance_alive::bool AS instance_alive, s.players, s.connected::bigint AS connected, s.max_players,
       s.opened_at, s.match
FROM ops.sessions s
WHERE s.region = @region AND s.instance = @instance AND s.id > @after::uuid
ORDER BY s.id LIMIT @most;

-- name: ConsoleSession :one
SELECT s.region, s.id, s.session::text AS session, s.mode, s.instance, s.instance_alive::bool AS instance_alive, s.players, s.connected::bigint AS connected, s.max_players,
       s.opened_at, s.match
FROM ops.sessions s WHERE s.region = @region AND s.id = @id;

-- name: ConsolePastSession :one
-- Returns a session that has closed. Each partition is looked up by its key.
SELECT s.region, s.id, s.session::text AS session, s.mode, s.instance, s.players, s.max_players, s.opened_at, s.closed_at, s.reason, s.match
FROM ops.past_sessions s WHERE s.region = @region AND s.id = @id ORDER BY s.closed_at DESC LIMIT 1;

-- name: ConsoleSeats :many
-- Returns the seats of a session. A session has at most 1,024.
SELECT s.region, s.session::text AS session, s.instance, s.mode, s.player, s.state, s.party, s.reserved_by, s.reserved_at, s.resolved_at, s.connected_at, s.expires_at,
       s.match, coalesce(s.team, '')::text AS team
FROM ops.seats s WHERE s.region = @region AND s.session_id = @id ORDER BY s.player LIMIT 1024;

-- name: ConsolePastSeats :many
-- Returns a page of seats of a session that were left, in the order of players and, for each, latest first.
SELECT s.region, s.session::text AS session, s.mode, s.player, s.party, s.reserved_by, s.reserved_at, s.resolved_at, s.connected_at, s.left_at, s.reason, s.match,
       coalesce(s.team, '')::text AS team
FROM ops.past_seats s WHERE s.region = @region AND s.session_id = @id AND s.player >= @after::text ORDER BY s.player, s.left_at DESC LIMIT @most;
