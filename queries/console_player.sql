-- The console's page of a player. Each statement finds the rows of one player by an index.

-- name: ConsoleSeatsOfPlayer :many
SELECT s.region, s.session::text AS session, s.instance, s.mode, s.player, s.state, s.party, s.reserved_by, s.reserved_at, s.resolved_at, s.connected_at, s.expires_at,
       s.match, coalesce(s.team, '')::text AS team
FROM ops.regions r CROSS JOIN LATERAL (
    SELECT * FROM ops.seats k WHERE k.region = r.region AND k.player = @player ORDER BY k.reserved_at DESC LIMIT 100) s
ORDER BY s.reserved_at DESC LIMIT 100;

-- name: ConsolePastSeatsOfPlayer :many
-- Returns a page of seats that a player has left, latest first, before a time.
SELECT s.region, s.session::text AS session, s.mode, s.player, s.party, s.reserved_by, s.reserved_at, s.resolved_at, s.connected_at, s.left_at, s.reason, s.match,
       coalesce(s.team, '')::text AS team
FROM ops.past_seats s WHERE s.player = @player AND s.left_at < @before ORDER BY s.left_at DESC LIMIT @most;

-- name: ConsoleTicketsOfPlayer :many
SELECT t.region, t.player, t.profile, t.ticket, t.joined_at, t.seen_at, coalesce(t.state, '')::text AS state, coalesce(t.reason, '')::text AS reason, t.match, coalesce(t.changed_at, t.joined_at)::timestamptz AS changed_at
FROM ops.player_tickets t WHERE t.region = @region AND t.player = @player ORDER BY t.joined_at DESC LIMIT 100;

-- name: ConsoleTicketStates :many
SELECT t.n, t.at, t.state, coalesce(t.reason, '')::text AS reason, t.match
FROM ops.ticket_states t WHERE t.region = @region AND t.ticket = @ticket ORDER BY t.n, t.at LIMIT 200;

-- name: ConsoleLobbySessionsOfPlayer :many
SELECT s.region, s.session, s.project, s.player, s.state::text AS state, s.rooms::bigint AS rooms, s.invitations::bigint AS invitations, s.ticket, s.waits_for, s.created_at, s.suspended_at
FROM (SELECT DISTINCT k.region, k.project FROM ops.project_keys k) p CROSS JOIN LATERAL (
    SELECT * FROM ops.realtime_sessions x WHERE x.region = p.region AND x.project = p.project AND x.player = @player LIMIT 100) s
ORDER BY s.created_at DESC LIMIT 100;

-- name: ConsoleRefusalsOfPlayer :many
SELECT r.call, r.code, r.detail, coalesce(r.region, '')::text AS region, coalesce(r.mode, '')::text AS mode, r.times, r.first_at, r.last_at,
       coalesce(r.request_id, '')::text AS request_id
FROM ops.refusals r WHERE r.player = @player ORDER BY r.last_at DESC LIMIT 100;
